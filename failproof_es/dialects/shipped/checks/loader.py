"""Reads cases of this dialect: JSON lines, each with its messages and its checks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from failproof_es.core.case import Case, Turn
from failproof_es.dialects.kit.json_lines import read_objects
from failproof_es.dialects.kit.schemas import report_defects
from failproof_es.dialects.kit.taken_ids import SeenIds
from failproof_es.dialects.kit.unknown_keys import UnknownKeys
from failproof_es.dialects.reply_checks import ReplyCheck, described
from failproof_es.problems import Problems

NAME = "checks"


class SuiteLine(BaseModel):
    """One line of a file of this dialect. `metadata` is for the author's own data."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    id: str
    suite: str = "checks"
    messages: list[Turn] = Field(min_length=1)
    checks: list[ReplyCheck] = []
    category: str | None = None
    tags: list[str] = []
    metadata: dict[str, Any] = {}


FIELDS = tuple(SuiteLine.model_fields)
_NESTED = {"messages": tuple(Turn.model_fields), "checks": tuple(ReplyCheck.model_fields)}


def load(files: Sequence[Path], problems: Problems) -> Iterator[tuple[Path, Case]]:
    """Yield every valid case with its file, in order; every defect goes to `problems`.

    Ids are unique in their suite, over all files together.
    """
    with SeenIds() as seen_ids:
        for path in files:
            unknown = UnknownKeys(problems)
            for number, document in read_objects(path, problems):
                place: dict[str, Any] = {"path": path, "line": number}
                misspelt, known_document = _without_unknown_keys(document, unknown, place)
                try:
                    line = SuiteLine.model_validate(known_document)
                except ValidationError as error:
                    report_defects(error, problems, **place)
                    continue
                is_new = seen_ids.is_new(line.suite, line.id, problems, field="id", **place)
                if is_new and not misspelt:
                    yield path, case_of(line, document)


def _without_unknown_keys(
    document: dict[str, Any], unknown: UnknownKeys, place: dict[str, Any]
) -> tuple[bool, dict[str, Any]]:
    """Whether a key of the line is an error, and the line without unknown keys in its lists."""
    misspelt = unknown.report_all(document, FIELDS, **place)
    known_document = dict(document)
    for name, fields in _NESTED.items():
        if not isinstance(items := document.get(name), list):
            continue
        known_document[name] = [
            {key: value for key, value in item.items() if key in fields}
            if isinstance(item, dict)
            else item
            for item in items
        ]
        for at, item in enumerate(items):
            if isinstance(item, dict):
                misspelt |= unknown.report_all(item, fields, f"{name}[{at}].", **place)
    return misspelt, known_document


def case_of(line: SuiteLine, document: dict[str, Any]) -> Case:
    """The case of a line; `document` is the line's JSON object as in its file."""
    return Case(
        dialect=NAME,
        case_id=line.id,
        suite_id=line.suite,
        turns=tuple(line.messages),
        expectation={"checks": [described(check) for check in line.checks]},
        category=line.category,
        tags=tuple(line.tags),
        document=document,
    )
