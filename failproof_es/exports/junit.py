"""Renders a run as JUnit XML, with failures apart from errors.

A test case is an evaluation. It is a failure when it was scored and has not passed, or people
failed it, an error when it was abandoned, and skipped while it awaits review, is disputed or not
finished, or has a score that is neither a pass nor a failure. The gates are test cases, too; a run
that is not completed has one that is an error.
Characters that XML 1.0 does not allow, and invisible ones, are shown as escapes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from tempfile import SpooledTemporaryFile
from typing import Any, Self
from xml.etree import ElementTree as ET
from xml.sax.saxutils import quoteattr

from failproof_es.core.case import Case
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.core.run import Run
from failproof_es.dialects.expectations import unmet_beside_answer
from failproof_es.exports.exporter import (
    Export,
    ExportedFile,
    LeftOut,
    Pieces,
    outcomes,
    refuse_settings,
)
from failproof_es.gate_words import gate_line
from failproof_es.reading.recorded_run import PlannedOutcome, RecordedRun
from failproof_es.reading.remarks import remarks_on
from failproof_es.support.untrusted_text import lines, one_line, shortened

LONGEST_TEXT = 4_000
"""Maximum characters of one text in the file; the log holds all of it."""
_LONG = f"the file shows {LONGEST_TEXT:,} characters of each"
_LONGEST_ATTRIBUTE = 400
_LONGEST_PART = 120
_MOST_PARTS = 4
_HELD = 1_000_000
_OUTCOMES = {"failure": "failures", "error": "errors", "skipped": "skipped"}
"""The attribute of a suite that counts each tag."""


class JUnit:
    """The exporter `junit`: results as JUnit XML, for continuous integration."""

    name = "junit"
    says = "results as JUnit XML, failures and errors told apart"

    def with_settings(self, settings: Mapping[str, str]) -> Self:
        """The exporter itself. Raises `InvalidInput` for any setting: it has none."""
        refuse_settings(self.name, settings)
        return self

    def files(self, runs: Sequence[RecordedRun], export: Export) -> Iterator[ExportedFile]:
        """One file of all runs together."""
        if runs:
            export.left_out.add("scores, tokens and costs", "JUnit has no place for them")
        pieces = Pieces(lambda own: junit(runs, own, export.left_out))
        yield ExportedFile(PurePosixPath(f"{export.prefix}_junit.xml"), "test cases", pieces)


def junit(
    runs: Sequence[RecordedRun], pieces: Pieces | None = None, left_out: LeftOut | None = None
) -> Iterator[bytes]:
    """The bytes of a JUnit file of these runs, in UTF-8.

    Large parts are kept in temporary files, not in memory. `pieces` counts the test cases;
    `left_out` counts the texts that are truncated. Raises `ImpossibleHistory` if an evaluation's
    record contradicts itself.
    """
    names = [f"run {run.started.run_number} {run.started.name}{_remarks(run)}" for run in runs]
    name = quoteattr(_attribute(", ".join(names)))
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name={name}>\n'.encode()
    for run in runs:
        number = "" if len(runs) == 1 else f", run {run.started.run_number}"
        with ExitStack() as stack:
            suites: dict[str, _Suite] = {}
            for planned in outcomes(run):
                name = planned.case.suite_id + number
                if name not in suites:
                    suites[name] = _Suite(name, run, stack.enter_context(_spool()))
                case = _test_case(planned)
                suites[name].add(case)
                if pieces is not None:
                    pieces.rows += 1
                if left_out is not None and len(case):
                    for name, text in _failure_details(planned.case, planned.outcome):
                        long = len(text) > LONGEST_TEXT
                        left_out.add(f"ends of texts: {name}", _LONG, long)
            for suite in suites.values():
                yield from suite.pieces()
            if run.run.status != "completed":
                unfinished = _Suite("run" + number, run, stack.enter_context(_spool()))
                unfinished.add(_unfinished(run.run))
                yield from unfinished.pieces()
            if run.gates:
                gates = _Suite("gates" + number, run, stack.enter_context(_spool()))
                for gate in run.gates.items():
                    gates.add(_gate(*gate))
                yield from gates.pieces()
    yield b"</testsuites>\n"


def _remarks(run: RecordedRun) -> str:
    remarks = remarks_on(run)
    return f" ({'; '.join(remarks)})" if remarks else ""


def _spool() -> SpooledTemporaryFile[bytes]:
    return SpooledTemporaryFile(max_size=_HELD)


@dataclass(slots=True)
class _Suite:
    """A JUnit suite with its test cases, buffered because its counts are written before them."""

    name: str
    run: RecordedRun
    buffer: SpooledTemporaryFile[bytes]
    counts: Counter[str] = field(default_factory=Counter)
    time_s: float = 0.0

    def add(self, case: ET.Element) -> None:
        self.counts["tests"] += 1
        self.counts.update(outcome.tag for outcome in case if outcome.tag in _OUTCOMES)
        self.time_s += float(case.get("time", 0))
        ET.indent(case, level=1)
        self.buffer.write(b"  " + ET.tostring(case, encoding="unicode").encode() + b"\n")

    def pieces(self) -> Iterator[bytes]:
        started = self.run.started
        attributes = {
            "name": _attribute(self.name),
            "timestamp": started.timestamp.strftime("%Y-%m-%dT%H:%M:%S"),
            "hostname": _attribute(started.where),
            "tests": self.counts["tests"],
            **{name: self.counts[tag] for tag, name in _OUTCOMES.items()},
            "time": f"{self.time_s:.3f}",
        }
        head = "".join(f" {name}={quoteattr(str(value))}" for name, value in attributes.items())
        yield f"<testsuite{head}>\n  <properties>\n".encode()
        for name, fact in (
            ("run_id", started.originator_id),
            ("configuration_digest", started.configuration_digest),
            ("code_version", started.code_version),
            ("origin", self.run.run.imported_from or self.run.origin),
        ):
            value = quoteattr(_attribute(str(fact)))
            yield f'    <property name="{name}" value={value} />\n'.encode()
        yield b"  </properties>\n"
        self.buffer.seek(0)
        yield from self.buffer
        yield b"</testsuite>\n"


def _test_case(planned: PlannedOutcome) -> ET.Element:
    case_, outcome = planned.case, planned.outcome
    repeated = "" if outcome.repetition == 1 else f" #{outcome.repetition}"
    case = ET.Element(
        "testcase",
        {
            "classname": _attribute(f"{case_.suite_id}.{outcome.model_key}"),
            "name": _attribute(case_.case_id + repeated),
            "time": f"{(outcome.latency_ms or 0.0) / 1000:.3f}",
        },
    )
    _add_outcome(case, planned)
    if len(case) and outcome.answer is not None:
        reply = ET.SubElement(case, "system-out")
        reply.text = lines(shortened(outcome.answer, LONGEST_TEXT))
    return case


def _add_outcome(element: ET.Element, planned: PlannedOutcome) -> None:
    case, outcome = planned.case, planned.outcome
    if planned.people == "fail":
        _outcome(element, "failure", "people", "failed by people", _failure_details(case, outcome))
    elif planned.people == "pass":
        return
    elif planned.people in ("disputed", "unclear"):
        ET.SubElement(element, "skipped", message=f"reviewed by people: {planned.people}")
    elif outcome.awaiting_review:
        ET.SubElement(element, "skipped", message="awaits review by people")
    elif outcome.status == "abandoned":
        _outcome(element, "error", outcome.ended_kind or "abandoned", outcome.reason)
    elif outcome.status != "scored":
        ET.SubElement(element, "skipped", message="not finished")
    elif outcome.passed is None:
        ET.SubElement(element, "skipped", message="scored, and neither passed nor failed")
    elif not outcome.passed:
        kind = outcome.class_ or "failed"
        _outcome(element, "failure", kind, outcome.reason, _failure_details(case, outcome))


def _failure_details(case: Case, outcome: EvaluationOutcome) -> list[tuple[str, str]]:
    """(label, text) of an evaluation's last prompt, and of each expectation that it does not meet.

    With them a failure can be judged without the log; its answer is in `system-out`.
    """
    prompts = [("prompt", prompt) for prompt in case.questions[-1:]]
    return prompts + unmet_beside_answer(case, outcome)


def _unfinished(run: Run) -> ET.Element:
    """The error of a run that is not completed: without it the rest of its cases is only
    skipped."""
    case = ET.Element("testcase", classname="run", name="completed", time="0.000")
    status = run.status.replace("_", " ")
    reason = f": {run.reason}" if run.reason else ""
    _outcome(case, "error", run.status, f"run {run.started.run_number} is {status}{reason}")
    return case


def _gate(name: str, gate: dict[str, Any]) -> ET.Element:
    case = ET.Element("testcase", classname="gates", name=_attribute(name), time="0.000")
    if not gate["met"]:
        _outcome(case, "failure", "gate", gate_line(name, gate))
    return case


def _outcome(
    case: ET.Element, outcome: str, kind: str, reason: str, details: Sequence[tuple[str, str]] = ()
) -> None:
    """Add a failure or an error to a test case, with its reason and details.

    `outcome` is the element's tag, `kind` its type; `details` are (label, text). The first
    `_MOST_PARTS` of them stand short in the attribute `message`, all of them long in the element's
    text.
    """
    parts = [f"{label}: {_quoted_part(text)}" for label, text in details[:_MOST_PARTS]]
    short = [shortened(reason, _LONGEST_PART), *parts]
    element = ET.SubElement(case, outcome, type=_attribute(kind))
    element.set("message", "; ".join(map(one_line, short)) if parts else _attribute(reason))
    long = [reason, *(f"{label}: {shortened(text, LONGEST_TEXT)}" for label, text in details)]
    element.text = "\n".join(lines(shortened(part, LONGEST_TEXT + 100)) for part in long)


def _quoted_part(text: str) -> str:
    return repr(shortened(" ".join(text.split()), _LONGEST_PART))


def _attribute(text: str) -> str:
    return one_line(shortened(text, _LONGEST_ATTRIBUTE))
