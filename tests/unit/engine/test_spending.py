"""What an evaluation reserves below a spend ceiling, and when it gives that back."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any, cast
from uuid import UUID

import pytest

from failproof_es.configuration.schema import Model
from failproof_es.core.evaluation import NO_JUDGES, EvaluationKey
from failproof_es.core.spend import HIDDEN_INPUT_TOKENS, RunBudget, SpendState
from failproof_es.dialects.protocol import Dialect
from failproof_es.engine.drive.grading.grader import Grader
from failproof_es.engine.drive.interpreter import Halted, Interpreter
from failproof_es.engine.drive.redaction import Redactor
from failproof_es.engine.limits.concurrency_limiter import ConcurrencyLimiter
from failproof_es.engine.limits.fair_semaphore import FairSemaphore
from failproof_es.engine.limits.spend_limiter import SpendLimiter
from failproof_es.engine.requests import Target
from failproof_es.events import Event, ModelPrices, TokenPrices, Usage
from failproof_es.models.protocol import Answer, ModelError, PreparedRequest, Provider
from failproof_es.store.writing.journal import Journal
from tests.unit.engine.test_evaluating_at_a_limit import CASE, TwoTurns

PRICES = {
    "m": ModelPrices(
        model_key="m", rates=(TokenPrices(input=Decimal(0), output=Decimal(1_000_000)),)
    ),
    "dear": ModelPrices(
        model_key="dear", rates=(TokenPrices(input=Decimal(1_000_000), output=Decimal(0)),)
    ),
}
"""A token written costs a dollar; of the other model, a token read."""
MOST = 10
WORST = Decimal(MOST)


class Log:
    """A journal that keeps the events, after `before` has looked at what is to be appended."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.before: Callable[[tuple[Event, ...]], None] = lambda events: None

    async def append(self, *events: Event) -> None:
        self.before(events)
        await asyncio.sleep(0)
        self.events.extend(events)

    def of(self, topic: str) -> list[Event]:
        return [event for event in self.events if type(event).__name__ == topic]


class Server:
    """A provider whose answers say that they wrote `written` tokens, once `release` is set."""

    def __init__(self, written: int | None = 1, body: bytes = b"{}") -> None:
        self.written = written
        self.body = body
        self.sent = 0
        self.release = asyncio.Event()
        self.release.set()
        self.error: ModelError | None = None

    def prepare(self, messages: Any, form: Any = None) -> PreparedRequest:
        return PreparedRequest("http://here/v1", self.body)

    async def send(self, request: PreparedRequest, on_text: Any = None) -> Answer:
        self.sent += 1
        await self.release.wait()
        if self.error is not None:
            raise self.error
        return Answer(
            status=200, headers={}, body=b"{}", text="!", latency_ms=1.0, model="m",
            usage=Usage(input_tokens=0, output_tokens=self.written),
        )  # fmt: skip


class Drive:
    """Evaluations of one run, of two turns each, below a ceiling in dollars."""

    def __init__(self, ceiling: int, server: Server, workers: int = 4) -> None:
        self.budget = RunBudget(Decimal(ceiling), SpendState())
        self.log, self.server, self.stop = Log(), server, asyncio.Event()
        self.gate = ConcurrencyLimiter(
            "http://here/v1", ["m"], workers, FairSemaphore(workers), 900.0
        )
        model = Model(provider="openai", model="m", base_url="http://here/v1", max_tokens=MOST)
        target = Target(model, cast(Provider, server), self.gate, math.inf)
        self.interpreter = Interpreter(
            grader=Grader(cast(Dialect, TwoTurns()), NO_JUDGES, retry_attempts=1),
            targets={"m": target, "dear": target},
            judges={},
            journal=cast(Journal, self.log),
            redactor=Redactor([]),
            observe=lambda event: None,
            on_text=None,
            stop=self.stop,
            retry_delay_ms=1,
            purposes=frozenset({"target", "judge"}),
            spending=SpendLimiter(self.budget, PRICES, 1),
        )

    def begin(self, repetition: int = 1, model: str = "m") -> asyncio.Task[Any]:
        key = EvaluationKey(UUID(int=1), UUID(int=2), model, repetition)
        return asyncio.create_task(self.interpreter.evaluate(key, CASE, []))


def driving(ceiling: int, work: Callable[[Drive], Awaitable[None]], **server: Any) -> None:
    async def main() -> None:
        async with asyncio.timeout(10):
            await work(Drive(ceiling, Server(**server)))

    asyncio.run(main())


def test_a_reservation_is_given_back_once_the_answer_is_durable_and_not_before() -> None:
    async def work(drive: Drive) -> None:
        seen: list[tuple[list[str], int | Decimal, Decimal]] = []

        def look(events: tuple[Event, ...]) -> None:
            now = drive.budget.spending
            seen.append(([type(each).__name__ for each in events], now.known_usd, now.reserved))

        drive.log.before = look
        assert (await drive.begin()).finished
        assert seen == [
            (["RequestSent"], 0, WORST),
            (["ResponseReceived"], 0, WORST),
            (["RequestSent"], 1, WORST),
            (["ResponseReceived"], 1, WORST),
            (["Classified", "Scored"], 2, 0),
        ]
        assert drive.budget.spending == SpendState(known_usd=Decimal(2))

    driving(100, work)


def test_what_does_not_fit_is_not_recorded_and_the_answer_before_it_is() -> None:
    async def work(drive: Drive) -> None:
        with pytest.raises(Halted, match=r"of \$10\.00 is reached: \$1\.00 spent; the next"):
            await drive.begin()
        assert drive.server.sent == 1 == len(drive.log.of("RequestSent"))
        assert len(drive.log.of("ResponseReceived")) == 1

    driving(MOST, work)


def test_the_answer_before_makes_room_for_the_next_question_of_the_same_evaluation() -> None:
    async def work(drive: Drive) -> None:
        assert (await drive.begin()).finished

    driving(MOST + 1, work)


def test_what_may_fit_later_waits_without_a_slot_until_something_has_ended() -> None:
    """With a slot it might wait for a request that waits for a slot."""

    async def work(drive: Drive) -> None:
        drive.server.release.clear()
        first, second = drive.begin(1), drive.begin(2)
        await asyncio.sleep(0.05)
        assert drive.server.sent == 1 and len(drive.log.events) == 1
        assert drive.gate.is_open
        drive.server.release.set()
        assert (await first).finished and (await second).finished
        assert drive.server.sent == 4

    driving(MOST + 4, work)


def test_who_waits_for_room_stops_with_the_run() -> None:
    async def work(drive: Drive) -> None:
        drive.server.release.clear()
        first, second = drive.begin(1), drive.begin(2)
        await asyncio.sleep(0.05)
        drive.stop.set()
        await asyncio.wait_for(second, 1)
        assert not first.done() and len(drive.log.events) == 1
        drive.server.release.set()
        await first

    driving(MOST + 4, work)


def test_an_error_that_may_have_been_billed_keeps_its_worst_case() -> None:
    async def work(drive: Drive) -> None:
        drive.server.error = ModelError("server_error", "it broke", "transient", status=500)
        assert (await drive.begin()).finished
        assert drive.server.sent == 2
        assert drive.budget.spending == SpendState(unknown=2 * WORST, unknown_requests=2)

    driving(100, work)


def test_an_answer_that_costs_more_than_it_could_stops_the_run_and_is_recorded() -> None:
    async def work(drive: Drive) -> None:
        with pytest.raises(Halted, match=r"cost \$11\.00, and could cost \$10\.00 at most"):
            await drive.begin()
        assert drive.server.sent == 1 and len(drive.log.of("ResponseReceived")) == 1
        assert drive.budget.spending == SpendState(known_usd=WORST + 1)

    driving(100, work, written=MOST + 1)


def test_the_bytes_of_the_body_are_reserved() -> None:
    async def work(drive: Drive) -> None:
        with pytest.raises(Halted, match="the next request to dear may cost"):
            await drive.begin(model="dear")
        assert drive.server.sent == 0 and not drive.log.events
        drive.budget.ceiling += 1
        assert (await drive.begin(2, "dear")).finished

    driving(HIDDEN_INPUT_TOKENS + 99, work, body=b"x" * 100)
