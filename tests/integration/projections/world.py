"""A run in which everything happens that can, and what projections make of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql

from failproof_es.core.case import Case, Turn, operations_id, prompt_id, review_id
from failproof_es.core.evaluation import EvaluationKey
from failproof_es.events import (
    AttemptOrphaned,
    CasesPlanned,
    Classified,
    Counts,
    ErrorRecorded,
    EvaluationAbandoned,
    Event,
    Judged,
    ModelPrices,
    ModelSnapshot,
    PricesRecorded,
    PromptStored,
    RequestSent,
    ResponseReceived,
    Reviewed,
    ReviewedItem,
    RunAnnotated,
    RunCompleted,
    RunPaused,
    RunResumed,
    RunStarted,
    Scored,
    SuiteSnapshot,
    TokenPrices,
    Usage,
)
from failproof_es.store.store import Store
from projections import PROJECTIONS
from projections.runner import catch_up
from tests.asked import ASKED

RUN = UUID(int=7)
WHEN = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
MODELS = ("small", "large")
PRICED = ModelPrices(
    model_key="small",
    source="prices of that day",
    rates=(
        TokenPrices(input=Decimal(100), output=Decimal(200)),
        TokenPrices(over_input_tokens=4, input=Decimal(1000), output=Decimal(2000)),
    ),
)
"""The answers of the model read 5 tokens, those of the judge 1."""


REQUEST: dict[str, Any] = {
    "model": "m", "parameters": {}, "endpoint": "e", "body": "b", "body_sha256": "s",
}  # fmt: skip
ERROR: dict[str, Any] = {
    "kind": "timeout", "message": "late \x00", "stack_trace": "t", "disposition": "transient",
    "body": "raw",
}  # fmt: skip
REPLY: dict[str, Any] = {
    "status": 200, "headers": {}, "body": "raw", "text": "odd \x00 \u202e \U0001f600",
    "finish_reason": "stop", "latency_ms": 12.25,
}  # fmt: skip


class World:
    """A run in which everything happens that can: errors, retries, kills, odd text."""

    def __init__(self, cases: int) -> None:
        self.events: list[Event] = []
        self._versions: dict[UUID, int] = {}
        self._cases = [self._case(number) for number in range(cases)]
        self._commands = [self._command(number) for number in range(4)]
        for case in (*self._cases, *self._commands):
            self._add(PromptStored, prompt_id(case.digest()), None, digest=case.digest(), case=case)
        self._start(cases)
        for number, case in enumerate(self._cases):
            for model in MODELS:
                self._evaluate(number, case, model)
        self._evaluate_commands()
        planned = (cases + len(self._commands)) * 2
        counts = Counts(planned=planned, finished=planned, scored=planned, abandoned=0)
        self._add(RunPaused, RUN, RUN, reason="stopped \x00 on request", counts=counts)
        self._add(RunResumed, RUN, RUN, who="w", where="h", code_version="1")
        self._add(RunCompleted, RUN, RUN, counts=counts)
        self._review()
        self._annotate()
        # A case that stands where none belongs.
        astray = self._cases[0]
        self._add(PromptStored, UUID(int=99), None, digest=astray.digest(), case=astray)

    def _case(self, number: int) -> Case:
        return Case(
            dialect="failproof",
            case_id=f"case-{number}\x00",
            suite_id="suite",
            turns=(Turn(role="user", content=f"q{number}"),),
            tags=("a\x00", "b", f"paraphrase:{number % 3}\x00"),
            category="c",
            severity="S1",
        )

    def _command(self, number: int) -> Case:
        document = {"prompt": f"odd \x00 {number}", "expected_command": "ls"}
        return Case(
            dialect="command", case_id=f"ls-{number}\x00", suite_id="commands",
            turns=(Turn(role="user", content="?"),), category="safety", document=document,
        )  # fmt: skip

    def _add(self, event: type[Event], stream: UUID, run_id: UUID | None, /, **fields: Any) -> None:
        version = self._versions.get(stream, 0) + 1
        self._versions[stream] = version
        self.events.append(
            event(
                originator_id=stream,
                originator_version=version,
                run_id=run_id,
                timestamp=WHEN + timedelta(milliseconds=len(self.events)),
                **fields,
            )
        )

    def _start(self, cases: int) -> None:
        self._add(
            RunStarted, RUN, RUN, name="world", run_number=1, **ASKED,
            configuration={"execution": {"repetitions": 1}}, configuration_digest="d",
            models=tuple(ModelSnapshot(key=m, provider="openai", model=m) for m in MODELS),
            suites=(SuiteSnapshot(path="p", sha256="s", dialect="failproof", cases=cases),),
            dialect="failproof", planned_cases=cases + len(self._commands),
            planned_evaluations=(cases + len(self._commands)) * 2,
            code_version="1", packages={}, who="w", where="h",
        )  # fmt: skip
        digests = tuple(case.digest() for case in (*self._cases, *self._commands))
        self._add(CasesPlanned, RUN, RUN, chunk=0, digests=digests, questions=digests)
        self._add(PricesRecorded, RUN, RUN, models=(PRICED, ModelPrices(model_key="large")))

    def _evaluate(self, number: int, case: Case, model: str) -> None:
        prompt = prompt_id(case.digest())
        stream = EvaluationKey(RUN, prompt, model).evaluation_id

        def add(event: type[Event], /, **fields: Any) -> None:
            identity = {"prompt_id": prompt, "model_key": model, "repetition": 1}
            self._add(event, stream, RUN, **identity, **fields)

        def sent(attempt: int, purpose: str = "target") -> dict[str, Any]:
            judge = "judge" if purpose == "judge" else None
            which = {
                "purpose": purpose,
                "judge": judge,
                "turn": int(bool(judge)),
                "attempt": attempt,
            }
            add(RequestSent, **which, **REQUEST)
            return which

        def failed(which: dict[str, Any]) -> None:
            add(ErrorRecorded, **which, **ERROR)

        def answered(which: dict[str, Any], usage: Usage) -> None:
            add(ResponseReceived, **which, **REPLY, model=f"{model}-1", usage=usage)

        attempt = 1
        if number % 3 == 1:
            failed(sent(attempt))
            attempt += 1
        if number % 4 == 2:
            add(AttemptOrphaned, **sent(attempt), reason="killed")
            attempt += 1
        if number % 5 == 4:
            failed(sent(attempt))
            add(Classified, primary="error", details={}, classifier="c", classifier_version="1")
            add(EvaluationAbandoned, kind="timeout", reason="late")
            return
        usage = Usage() if number % 7 == 6 else Usage(input_tokens=5, output_tokens=3)
        answered(sent(attempt), usage)
        if number % 6 == 5:
            return  # still running
        primary = ("pass", "fail", "refusal", "empty", "truncated", "odd")[number % 6]
        add(Classified, primary=primary, details={"x": "\x00"}, classifier="c",
            classifier_version="1")  # fmt: skip
        if number % 2:
            answered(sent(1, "judge"), Usage(input_tokens=1, output_tokens=1))
            add(Judged, judge="judge", verdict={"x": 1}, problem=None, final=True, grader="r",
                grader_version="1")  # fmt: skip
        add(
            Scored, scores={"accuracy": float(primary == "pass")}, passed=primary == "pass",
            reason="", scorer="s", scorer_version="1",
        )  # fmt: skip

    def _evaluate_commands(self) -> None:
        """Shell commands: one that passed, one that failed, one that never came, one unfinished."""
        reasons = (None, {"type": "incorrect_command"}, None, None)
        for number, (case, reason) in enumerate(zip(self._commands, reasons, strict=True)):
            prompt = prompt_id(case.digest())
            stream = EvaluationKey(RUN, prompt, "small").evaluation_id
            identity = {"prompt_id": prompt, "model_key": "small", "repetition": 1}
            details = {
                "category": "safety", "reason": reason, "command": "ls \x00",
                "safety": {"safe": number != 0},
            }  # fmt: skip
            primary = "error" if number == 2 else "fail" if reason else "pass"
            asked = {**identity, "purpose": "target", "turn": 0, "attempt": 1}
            self._add(RequestSent, stream, RUN, **asked, **REQUEST)
            if number == 2:
                self._add(ErrorRecorded, stream, RUN, **asked, **ERROR)
            else:
                self._add(
                    ResponseReceived, stream, RUN, **asked, **REPLY, model="small-1", usage=Usage()
                )
            self._add(
                Classified, stream, RUN, **identity, primary=primary,
                details=details, classifier="command.classifier", classifier_version="1",
            )  # fmt: skip
            if number == 2:
                self._add(
                    EvaluationAbandoned, stream, RUN, **identity, kind="timeout", reason="late \x00"
                )
            elif number < 2:
                self._add(
                    Scored, stream, RUN, **identity, scores={"accuracy": float(not reason)},
                    passed=not reason, reason="", scorer="command.success", scorer_version="1",
                )  # fmt: skip

    def _review(self) -> None:
        """One evaluation by two people, one of whom comes back to it."""
        evaluation = EvaluationKey(RUN, prompt_id(self._cases[0].digest()), "small").evaluation_id
        for reviewer, verdict in (("jane \x00", "pass"), ("joe", "fail"), ("jane \x00", "fail")):
            self._add(
                Reviewed, review_id(evaluation), None, about=RUN, who="w", where="h",
                evaluation_id=evaluation, reviewer=reviewer, verdict=verdict,
                items=(ReviewedItem(item="must_do.1", verdict="met"),), severity="S1",
                tags=("a\x00",), notes="odd \x00", blind=True, file_sha256=None, sheet=None,
                queue=None, seconds=None, adjudicates=False,
            )  # fmt: skip

    def _annotate(self) -> None:
        """The run is named, and then named otherwise and hidden."""
        for name, hidden in (("first \x00", False), ("second", True)):
            self._add(
                RunAnnotated, operations_id(RUN), None, about=RUN, who="w", where="h", name=name,
                tags=("a\x00", "b"), note="odd \x00", hidden=hidden,
            )  # fmt: skip


Rows = dict[str, list[tuple[Any, ...]]]


def rows(connection: psycopg.Connection[Any]) -> Rows:
    """Every row of every relation of every projection, as text, in a fixed order."""
    found = {}
    for projection in PROJECTIONS:
        for relation in projection.relations:
            statement = sql.SQL("SELECT r::text FROM projections.{} r ORDER BY 1").format(
                sql.Identifier(relation.name)
            )
            found[relation.name] = connection.execute(statement).fetchall()
    return found


def record(store: Store, events: Sequence[Event]) -> None:
    store.log.events.put(list(events))


def is_building(connection: psycopg.Connection[Any]) -> bool:
    """Whether there are tables of a rebuild that did not end."""
    row = connection.execute(
        "SELECT count(*) FROM pg_tables WHERE schemaname = 'projections_building'"
    ).fetchone()
    assert row is not None
    return bool(row[0])


def follow_to_the_end(connection: psycopg.Connection[Any]) -> None:
    while catch_up(connection):
        pass
