"""`sarif`: each failed case as a finding, for code scanning (SARIF 2.1.0)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Self

from failproof_es.core.case import Case
from failproof_es.core.severity import severity_of, severity_rank
from failproof_es.exports.exact_json import exact_json
from failproof_es.exports.exporter import (
    Export,
    ExportedFile,
    Pieces,
    outcomes,
    refuse_settings,
)
from failproof_es.exports.suite_places import SuitePlace, SuitePlaces
from failproof_es.reading.recorded_run import PlannedOutcome, RecordedRun
from failproof_es.support.class_words import class_word
from failproof_es.support.timestamps import utc_text
from failproof_es.support.untrusted_text import lines, one_line

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_LEVELS = ("error", "error", "warning", "note", "note")
"""The levels by `severity_rank`."""
_LEVEL = "warning"
"""The level of a case without a known severity."""


class Sarif:
    """The exporter `sarif`: each failed case as a finding, for code scanning."""

    name = "sarif"
    says = "each failed case as a finding, in SARIF 2.1.0"

    def with_settings(self, settings: Mapping[str, str]) -> Self:
        """The exporter itself. Raises `InvalidInput` for any setting: it has none."""
        refuse_settings(self.name, settings)
        return self

    def files(self, runs: Sequence[RecordedRun], export: Export) -> Iterator[ExportedFile]:
        """One file, with an entry of SARIF's `runs` for each run."""
        pieces = Pieces(lambda own: _log(runs, export, own))
        yield ExportedFile(PurePosixPath(f"{export.prefix}_findings.sarif"), "findings", pieces)


def _log(runs: Sequence[RecordedRun], export: Export, pieces: Pieces) -> Iterator[bytes]:
    yield exact_json({"$schema": _SCHEMA, "version": "2.1.0"}, export.left_out)[:-1]
    yield b',"runs":[\n'
    for number, run in enumerate(runs):
        yield b",\n" if number else b""
        yield from _run(run, export, pieces)
    yield b"]}\n"


def _run(run: RecordedRun, export: Export, pieces: Pieces) -> Iterator[bytes]:
    """The bytes of one entry of `runs`: the findings, then the tool with the rules of these."""
    left_out = export.left_out
    places = SuitePlaces(run.started.suites)
    rules: dict[str, dict[str, Any]] = {}
    first = True
    yield b'{"results":[\n'
    for planned in outcomes(run):
        outcome = planned.outcome
        if planned.failed:
            rule = rule_of(planned.case)
            rules.setdefault(rule["id"], rule)
            place = places.of(planned.case.case_id)
            result = finding(planned, place)
            if place is None or place.line is None:
                left_out.add("lines of findings", "the suite's file is gone, or was changed, or "
                             "says no such id")  # fmt: skip
            yield (b"" if first else b",\n") + exact_json(result, left_out)
            first = False
            pieces.rows += 1
        elif outcome.passed or planned.by_people == "passed_by_people":
            left_out.add("evaluations that passed", "only what failed is a finding")
        else:
            status = planned.by_people or outcome.ended_kind or outcome.status
            left_out.add("evaluations without a verdict", f"{status}: no finding, and no pass")
    yield b"\n]," + exact_json(_tool(run, list(rules.values())), left_out)[1:] + b"\n"


def _tool(run: RecordedRun, rules: list[dict[str, Any]]) -> dict[str, Any]:
    started, ended_at = run.started, run.run.ended_at
    invocation: dict[str, Any] = {
        "executionSuccessful": run.run.status == "completed",
        "startTimeUtc": utc_text(started.timestamp),
    }
    if ended_at is not None:
        invocation["endTimeUtc"] = utc_text(ended_at)
    return {
        "tool": {
            "driver": {"name": "failproof-es", "version": started.code_version, "rules": rules}
        },
        "automationDetails": {"id": f"{one_line(started.name)}/{run.run_id}"},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "properties": {
            "runNumber": started.run_number,
            "origin": run.origin,
            "status": run.run.status,
            "dialect": started.dialect,
            "configurationSha256": started.configuration_digest,
        },
    }


def rule_of(case: Case) -> dict[str, Any]:
    """A SARIF rule for the case's category and severity. Pure."""
    category = one_line(case.category or case.suite_id)
    severity = one_line(severity_of(case) or "unrated")
    return {
        "id": f"{category}/{severity}",
        "shortDescription": {"text": f"{category}, severity {severity}"},
        "defaultConfiguration": {"level": _level(case)},
        "properties": {"tags": sorted({"llm", category}), "severity": severity},
    }


def finding(planned: PlannedOutcome, place: SuitePlace | None) -> dict[str, Any]:
    """A failed evaluation as a SARIF result, with a fingerprint of its case and model. Pure.

    The fingerprint is the same in every run. Without a `place` the result has no file.
    """
    case, outcome = planned.case, planned.outcome
    qualified_name = f"{case.suite_id}/{case.case_id}"
    why = "failed by people"
    if outcome.failed:
        word = class_word(outcome.class_ or "failed", outcome.passed)
        why = f"{word}. {outcome.reason}".rstrip()
    text = lines(f"{qualified_name} failed with {outcome.model_key}: {why}")
    same = hashlib.sha256(f"{case.digest()}\n{outcome.model_key}".encode()).hexdigest()
    location: dict[str, Any] = {
        "logicalLocations": [{"fullyQualifiedName": one_line(qualified_name), "kind": "member"}]
    }
    if place is not None:
        region = {} if place.line is None else {"region": {"startLine": place.line}}
        location["physicalLocation"] = {"artifactLocation": {"uri": place.uri}, **region}
    return {
        "ruleId": rule_of(case)["id"],
        "kind": "fail",
        "level": _level(case),
        "message": {"text": text.replace("](", "\\](")},  # show no links of a model
        "locations": [location],
        "partialFingerprints": {"caseAndModel/v1": same},
        "properties": {
            "evaluationId": str(outcome.evaluation_id),
            "caseSha256": case.digest(),
            "model": outcome.model_key,
            "repetition": outcome.repetition,
            "class": outcome.class_,
            "answer": outcome.answer,
        },
    }


def _level(case: Case) -> str:
    rank = severity_rank(severity_of(case))
    return _LEVELS[rank] if rank < len(_LEVELS) else _LEVEL
