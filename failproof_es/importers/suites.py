"""Writes imported cases as suites: two for checks by program, one for judges or people.

The suites are three files: `cases.jsonl` in the dialect `failproof`, which has one expected text,
pattern or refusal; `checked.jsonl` in the dialect `checks`, which names several expectations, and
negated ones, in words; and `judged.jsonl` in the dialect `redteam`. A case that has both kinds of
expectations is in two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from failproof_es.core.case import PARTLY_IMPORTED
from failproof_es.core.severity import TAG
from failproof_es.dialects.kit.taken_ids import SeenIds
from failproof_es.dialects.registry import dialect_named
from failproof_es.importers.expected import (
    NotExpressible,
    expected_response,
    require_valid_checks,
)
from failproof_es.importers.protocol import Findings, ImportedCase, as_reply_checks
from failproof_es.problems import InvalidInput, Problem, Problems

CASES, CHECKED, JUDGED = "cases.jsonl", "checked.jsonl", "judged.jsonl"
DIALECTS = {CASES: "failproof", CHECKED: "checks", JUDGED: "redteam"}
MAX_CASES = 1_000_000
MAX_BYTES = 4 * 1024**3
"""The most bytes that one import writes."""
_MOST_ERRORS = 100
_VARIABLE = re.compile(r"\{\{[ \t]*[^\W\d][\w.-]*[ \t]*\}\}")
_TITLE = 60
_REFUSAL_UNDECIDED = "whether the answer refuses is not checked beside other assertions"
_JUDGED_BY_SUITE = "another suite has the id: its judged case is SUITE/ID"
_JUDGED_IDS = "\0"
"""In place of a suite, for the ids of judged cases: no suite is named so."""
_NOT_EMPTY = {"kind": "equals", "values": [""], "trim": True, "negate": True}
"""The check of a case that names nothing that must come: an empty answer would pass it."""
_DEFAULT_SEVERITY = "S2"
"""The severity of a judged case whose source has none: the dialect asks for one."""


@dataclass(frozen=True, slots=True)
class WrittenSuite:
    """A suite that was written, and the number of its cases."""

    file: Path
    dialect: str
    cases: int


def write_suites(
    cases: Iterator[ImportedCase], folder: Path, name: str, findings: Findings
) -> list[WrittenSuite]:
    """Write the cases into `folder`, which is empty; a suite without cases is not written.

    `name` is the suite of cases that name none. Unmapped parts are noted in `findings`. Raises
    `InvalidInput` for duplicate ids, for too many cases and for invalid ones.
    """
    counts = dict.fromkeys(DIALECTS, 0)
    problems, size = Problems(), 0
    with SeenIds() as seen_ids, ExitStack() as stack:
        files = {
            file_name: stack.enter_context((folder / file_name).open("xb"))
            for file_name in DIALECTS
        }
        for number, case in enumerate(cases, 1):
            if number > MAX_CASES:
                message = f"holds more than {MAX_CASES:,} cases"
                raise InvalidInput(
                    [Problem("limit-exceeded", message, remedy="import it in parts")]
                )
            if not _claim(case, case.suite or name, seen_ids, problems):
                continue
            for file, document in _documents(case, name, findings, seen_ids):
                line = orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)
                size += files[file].write(line)
                if size > MAX_BYTES:
                    message = f"becomes more than {MAX_BYTES:,} bytes of cases"
                    raise InvalidInput(
                        [Problem("limit-exceeded", message, remedy="import it in parts")]
                    )
                counts[file] += 1
            if len(problems.errors) >= _MOST_ERRORS:
                problems.error("too-many-problems", f"stopped after {_MOST_ERRORS} problems")
                break
    problems.raise_errors()
    for file, count in counts.items():
        if not count:
            (folder / file).unlink()
    suites = [
        WrittenSuite(folder / file, dialect, counts[file])
        for file, dialect in DIALECTS.items()
        if counts[file]
    ]
    for suite in suites:
        _require_valid(suite)
    return suites


def _claim(case: ImportedCase, suite: str, seen_ids: SeenIds, problems: Problems) -> bool:
    at = Path(case.place.path)
    first = seen_ids.claim(suite, case.case_id, at, case.place.line or 0)
    if first is not None:
        problems.error(
            "duplicate-id",
            f"duplicate id {case.case_id[:200]!r}, first used at {first}",
            path=at,
            line=case.place.line,
            remedy="give each case its own id, or map no id: then they are numbered",
        )
    return first is None


def _documents(
    case: ImportedCase, name: str, findings: Findings, seen_ids: SeenIds
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name of the file and the document of the case in each dialect that it needs."""
    judged = _is_judged(case)
    is_for_checks = _is_for_checks(case)
    try:
        if is_for_checks:
            require_valid_checks(case.checks)
        expected = None if is_for_checks else expected_response(case.checks)
    except NotExpressible as error:
        findings.note(case.place, f"the case is not written: {error}")
    else:
        if is_for_checks:
            if case.refusal is not None:
                findings.note(case.place, _REFUSAL_UNDECIDED)
                case = replace(case, tags=(PARTLY_IMPORTED, *case.tags))
            yield CHECKED, _checks_document(case, name)
        elif case.checks or case.refusal is not None or not judged:
            yield CASES, _failproof_document(case, name, expected)
    if judged:
        judged_id = _judged_id(case, name, findings, seen_ids)
        yield JUDGED, _redteam_document(replace(case, case_id=judged_id), name)


def _judged_id(case: ImportedCase, name: str, findings: Findings, seen_ids: SeenIds) -> str:
    """The id of a judged case: the dialect `redteam` wants one that no other suite has."""
    at = Path(case.place.path)
    judged_id = case.case_id
    while seen_ids.claim(_JUDGED_IDS, judged_id, at, case.place.line or 0) is not None:
        judged_id = f"{case.suite or name}/{judged_id}"
    if judged_id != case.case_id:
        findings.note(case.place, _JUDGED_BY_SUITE, case.case_id)
    return judged_id


def _is_judged(case: ImportedCase) -> bool:
    return bool(case.criteria or case.refused)


def _is_for_checks(case: ImportedCase) -> bool:
    """Whether the dialect `checks` states the case, where a pattern would hide what was expected.

    It does not decide whether an answer refuses. So it states a case that must refuse only if the
    answer must be JSON, too, which no pattern says.
    """
    checks = case.checks
    if case.is_stated_in_checks and case.refusal is None:
        return bool(checks) or not _is_judged(case)
    is_compound = len(checks) > 1 or any(check.negated for check in checks)
    is_json = any(check.kind == "json" for check in checks)
    return is_json or (is_compound and not case.refusal)


def _failproof_document(case: ImportedCase, name: str, expected: str | None) -> dict[str, Any]:
    text = case.turns[-1].content
    prompt_fields: dict[str, Any] = {"prompt": text}
    if _VARIABLE.search(text):  # the text is literal: a variable in it must not be filled in
        prompt_fields = {"prompt": "{{prompt_text}}", "prompt_vars": {"prompt_text": text}}
    earlier = [turn.model_dump() for turn in case.turns[:-1]]
    return {
        "case_id": case.case_id,
        "suite_id": case.suite or name,
        **prompt_fields,
        **({} if expected is None else {"expected_response": expected}),
        **({"expected_classification": "refusal"} if case.refusal else {}),
        **({} if case.severity is None else {"severity_expectation": case.severity}),
        **({"tags": list(case.tags)} if case.tags else {}),
        **({"earlier_messages": earlier} if earlier else {}),
    }


def _checks_document(case: ImportedCase, name: str) -> dict[str, Any]:
    is_tagged = case.severity is None or any(tag.startswith(TAG) for tag in case.tags)
    severity = [] if is_tagged else [f"{TAG}{case.severity}"]
    return {
        "id": case.case_id,
        "suite": case.suite or name,
        "messages": [turn.model_dump() for turn in case.turns],
        "checks": [
            *as_reply_checks(case.checks),
            *([_NOT_EMPTY] if all(check.negated for check in case.checks) else []),
        ],
        **({"tags": tags} if (tags := [*case.tags, *severity]) else {}),
    }


def _redteam_document(case: ImportedCase, name: str) -> dict[str, Any]:
    title = " ".join(case.turns[-1].content.split())
    return {
        "id": case.case_id,
        "title": title if len(title) <= _TITLE else f"{title[: _TITLE - 1]}…",
        "category": case.suite or name,
        "tags": [*case.tags, *([f"category:{case.suite}"] if case.suite else [])],
        "severity_expectation": case.severity or _DEFAULT_SEVERITY,
        "turns": [turn.model_dump() for turn in case.turns],
        "expected_behavior": {
            "must_do": [],
            "must_not_do": list(case.refused),
            "pass_criteria": list(case.criteria),
        },
    }


def _require_valid(suite: WrittenSuite) -> None:
    """Raises `InvalidInput`, with all defects, unless the dialect reads the written suite."""
    problems = Problems()
    for _ in dialect_named(suite.dialect).load([suite.file], problems):
        pass
    defects = [
        Problem(
            problem.code,
            f"{problem.message} (in case {problem.line} of {suite.file.name})",
            field=problem.field,
        )
        for problem in problems.errors
    ]
    if defects:
        raise InvalidInput(defects[:_MOST_ERRORS])
