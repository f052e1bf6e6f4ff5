"""What one evaluation has on record, and what it sends, while its server wants nothing."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Any, cast
from uuid import UUID

import pytest

from failproof_es.configuration.schema import Model
from failproof_es.core.case import Case, Turn
from failproof_es.core.evaluation import NO_JUDGES, Classification, EvaluationKey, Score, Transcript
from failproof_es.dialects.protocol import Dialect
from failproof_es.engine.drive.grading.grader import Grader
from failproof_es.engine.drive.interpreter import Interpreter
from failproof_es.engine.drive.redaction import Redactor
from failproof_es.engine.limits.concurrency_limiter import ConcurrencyLimiter
from failproof_es.engine.limits.fair_semaphore import FairSemaphore
from failproof_es.engine.requests import Target
from failproof_es.events import Event
from failproof_es.models.protocol import (
    DEFAULT_RESPONSE_OPTIONS,
    Answer,
    ModelError,
    PreparedRequest,
    Provider,
    ResponseOptions,
)
from failproof_es.store.writing.journal import Journal

ASK = (Turn(role="user", content="?"),)
CASE = Case(
    dialect="two-turns", case_id="c", suite_id="s", turns=ASK, expectation={}, document={}
)  # fmt: skip
KEY = EvaluationKey(UUID(int=1), UUID(int=2), "m", 1)


class TwoTurns:
    """Asks twice, whatever is answered."""

    name = "two-turns"

    def grading_is_bounded(self, case: Case, transcript: Transcript) -> bool:
        return True

    def messages(self, case: Case, transcript: Transcript) -> tuple[Turn, ...] | None:
        return ASK if len(transcript.replies) < 2 else None

    def judge_messages(self, case: Case, transcript: Transcript) -> None:
        return None

    def classify(self, case: Case, transcript: Transcript) -> Classification:
        return Classification("pass", {}, "c", "1")

    def score(self, case: Case, classification: Classification, judgement: None) -> Score:
        return Score({"accuracy": 1.0}, "", "s", "1", passed=True)


class Recorded:
    """A journal that keeps the topics, one list for each append."""

    def __init__(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        self.appends: list[list[str]] = []
        self._meanwhile = meanwhile

    async def append(self, *events: Event) -> None:
        self._meanwhile()
        self.appends.append([type(event).__name__ for event in events])


class Wire:
    """A provider that answers at once, after telling who wants to know."""

    def __init__(self, on_send: Callable[[], None] = lambda: None) -> None:
        self.sent = 0
        self._on_send = on_send

    def prepare(
        self, messages: Any, form: ResponseOptions = DEFAULT_RESPONSE_OPTIONS
    ) -> PreparedRequest:
        return PreparedRequest("http://here/v1", b"{}")

    async def send(self, request: PreparedRequest, on_text: Any = None) -> Answer:
        self.sent += 1
        self._on_send()
        return Answer(status=200, headers={}, body=b"{}", text="!", latency_ms=1.0, model="m")


def evaluating(
    gate: ConcurrencyLimiter,
    journal: Recorded,
    wire: Wire,
    stop: asyncio.Event,
    dialect: object | None = None,
    longest_s: float = math.inf,
) -> asyncio.Task[object]:
    model = Model(provider="openai", model="m", base_url="http://here/v1")
    interpreter = Interpreter(
        grader=Grader(cast(Dialect, dialect or TwoTurns()), NO_JUDGES, retry_attempts=1),
        targets={"m": Target(model, cast(Provider, wire), gate, longest_s)},
        judges={},
        journal=cast(Journal, journal),
        redactor=Redactor([]),
        observe=lambda event: None,
        on_text=None,
        stop=stop,
        retry_delay_ms=1,
        purposes=frozenset({"target", "judge"}),
    )
    return asyncio.create_task(interpreter.evaluate(KEY, CASE, []))


def at_a_gate(work: Callable[[ConcurrencyLimiter], Awaitable[None]]) -> None:
    async def main() -> None:
        gate = ConcurrencyLimiter("http://here/v1", ["m"], 4, FairSemaphore(4), 900.0)
        async with asyncio.timeout(5):
            await work(gate)

    asyncio.run(main())


async def stopped(
    gate: ConcurrencyLimiter, stop: asyncio.Event, evaluation: asyncio.Task[object]
) -> None:
    stop.set()
    gate.close()
    await evaluation


def test_an_answer_is_on_record_before_the_wait_at_a_gate_that_is_shut() -> None:
    async def work(gate: ConcurrencyLimiter) -> None:
        journal, stop = Recorded(), asyncio.Event()
        wire = Wire(lambda: gate.on_error(0.0, "server_error", 60.0))
        evaluation = evaluating(gate, journal, wire, stop)
        await asyncio.sleep(0.05)
        assert journal.appends == [["RequestSent"], ["ResponseReceived"]]
        await stopped(gate, stop, evaluation)
        assert (wire.sent, len(journal.appends)) == (1, 2)

    at_a_gate(work)


def test_each_answer_is_appended_before_anything_reads_it() -> None:
    async def work(gate: ConcurrencyLimiter) -> None:
        journal = Recorded()
        await evaluating(gate, journal, Wire(), asyncio.Event())
        assert journal.appends == [
            ["RequestSent"],
            ["ResponseReceived"],
            ["RequestSent"],
            ["ResponseReceived"],
            ["Classified", "Scored"],
        ]

    at_a_gate(work)


def test_no_request_goes_during_a_hold_that_began_while_it_was_put_on_record() -> None:
    async def work(gate: ConcurrencyLimiter) -> None:
        held: list[bool] = []
        wire = Wire(lambda: held.append(not gate.is_open))
        journal = Recorded(
            lambda: gate.on_error(0.0, "server_error", 0.1) if not wire.sent else None
        )
        await evaluating(gate, journal, wire, asyncio.Event())
        assert held == [False, False]

    at_a_gate(work)


def test_a_request_on_record_that_a_stop_finds_held_back_is_lost_and_not_sent() -> None:
    async def work(gate: ConcurrencyLimiter) -> None:
        wire, stop = Wire(), asyncio.Event()
        journal = Recorded(lambda: gate.on_error(0.0, "server_error", 60.0))
        evaluation = evaluating(gate, journal, wire, stop)
        await asyncio.sleep(0.05)
        await stopped(gate, stop, evaluation)
        assert (wire.sent, journal.appends) == (0, [["RequestSent"], ["AttemptOrphaned"]])

    at_a_gate(work)


@pytest.mark.long
@pytest.mark.parametrize(
    ("unreached", "ended"),
    [
        (UUID(int=9), "Scored"),
        (None, "EvaluationAbandoned"),
        (KEY.prompt_id, "EvaluationAbandoned"),
    ],
    ids=["another case", "none", "a repetition"],
)
def test_a_server_that_is_down_ends_no_evaluation_and_one_question_that_breaks_it_does(
    unreached: UUID | None, ended: str
) -> None:
    """It has one retry, and three requests find no connection. Then the server is there again.

    `unreached` is the case of a request before that found no connection.
    """

    async def work(gate: ConcurrencyLimiter) -> None:
        def refuse() -> None:
            if wire.sent <= 3:
                raise ModelError("connection", "refused", "transient")

        journal, wire = Recorded(), Wire(refuse)
        if unreached is not None:
            gate.disposition_of(ModelError("connection", "", "transient"), unreached)
        await evaluating(gate, journal, wire, asyncio.Event())
        assert journal.appends[-1][-1] == ended
        assert wire.sent == (5 if ended == "Scored" else 2)

    at_a_gate(work)
