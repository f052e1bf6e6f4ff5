"""Reads cases of this dialect: JSON lines, each with its messages and its checks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from failproof_es.core.case import Case, Turn
from failproof_es.dialects.kit.json_lines import read_objects
from failproof_es.dialects.kit.taken_ids import SeenIds
from failproof_es.dialects.kit.unknown_keys import UnknownKeys
from failproof_es.dialects.reply_checks import ReplyCheck, described
from failproof_es.problems import Problems, schema_code

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
            for line, document in read_objects(path, problems):
                case = _case(path, line, document, problems, seen_ids, unknown)
                if case is not None:
                    yield path, case


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


def _case(
    path: Path,
    number: int,
    document: dict[str, Any],
    problems: Problems,
    seen_ids: SeenIds,
    unknown: UnknownKeys,
) -> Case | None:
    misspelt = [
        unknown.report(key, FIELDS, document, path=path, line=number, field=key)
        for key in document
        if key not in FIELDS
    ]
    pruned_document = dict(document)
    for name, fields in _NESTED.items():
        if isinstance(items := document.get(name), list):
            pruned_document[name] = []
            for at, item in enumerate(items):
                nested = item if isinstance(item, dict) else {}
                misspelt += [
                    unknown.report(
                        key, fields, nested, path=path, line=number, field=f"{name}[{at}].{key}"
                    )
                    for key in nested
                    if key not in fields
                ]
                known_members = {key: value for key, value in nested.items() if key in fields}
                pruned_document[name].append(known_members if isinstance(item, dict) else item)
    try:
        line = SuiteLine.model_validate(pruned_document)
    except ValidationError as error:
        for details in error.errors(include_url=False):
            field = ".".join(map(str, details["loc"]))
            code = schema_code(details["type"])
            problems.error(code, details["msg"], path=path, line=number, field=field)
        return None
    first = seen_ids.claim(line.suite, line.id, path, number)
    if first is not None:
        problems.error(
            "duplicate-id",
            f"duplicate id {line.id!r} in suite {line.suite!r}, first used at {first}",
            path=path,
            line=number,
            field="id",
            remedy="give each case of a suite its own id",
        )
    return None if first is not None or any(misspelt) else case_of(line, document)
