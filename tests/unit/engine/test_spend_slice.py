"""What keeps the slice of a shard: it asks ahead, gives back, and knows when it is over."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any
from uuid import UUID

import psycopg
import pytest

from failproof_es.core.history_errors import ImpossibleHistory
from failproof_es.core.spend import Grant, SliceBudget, SpendReport, SpendState
from failproof_es.core.spend.slices import Rows, reserve
from failproof_es.engine.limits import spend_slice
from failproof_es.engine.limits.spend_limiter import SpendCeilingReached
from failproof_es.engine.limits.spend_slice import SpendSlice
from failproof_es.events import ModelPrices, RequestSent, ResponseReceived, TokenPrices
from failproof_es.store.writing.recorder import LeaseLost
from tests.unit.core.test_spend import answer, request

PRICES = {
    "m": ModelPrices(
        model_key="m", rates=(TokenPrices(input=Decimal(0), output=Decimal(1_000_000)),)
    )
}
"""A token written costs a dollar: a request may cost five."""
WORST = Decimal(5)


class Row:
    """The row of one shard among those of a run."""

    def __init__(self, run: dict[str, Any], shard: int) -> None:
        self.run, self.shard = run, shard
        self.error: Exception | None = None
        self.dead_counted = 0
        self.unreadable: Exception | None = None

    def reserve(self, report: SpendReport) -> Grant:
        if self.error is not None:
            raise self.error
        rows: Rows = self.run["rows"]
        self.run["rows"], grant = reserve(self.run["ceiling"], rows, self.shard, report)
        self.run["wanted"] = self.run["wanted"] or grant.is_wanted
        return grant._replace(is_wanted=self.run["wanted"])

    def count_dead(self) -> None:
        self.dead_counted += 1
        if self.unreadable is not None:
            raise self.unreadable
        self.run["rows"] = {**self.run["rows"], 9: SpendState()}


def sending(number: int) -> RequestSent:
    return request().model_copy(update={"originator_id": UUID(int=number)})


def answered(number: int, tokens: int) -> ResponseReceived:
    asked = sending(number)
    place = {
        "originator_id": asked.originator_id,
        "originator_version": asked.originator_version + 1,
    }
    return answer(input_tokens=0, output_tokens=tokens).model_copy(update=place)


def with_slices(
    ceiling: int, work: Callable[[list[SpendSlice], list[Row]], Awaitable[None]]
) -> None:
    async def main() -> None:
        run = {"ceiling": Decimal(ceiling), "rows": {}, "wanted": False}
        rows = [Row(run, shard) for shard in range(2)]
        slices = [
            SpendSlice(SliceBudget(Decimal(ceiling), SpendState()), PRICES, 1, row, at_once=2)
            for row in rows
        ]
        for each in slices:
            each.open()
        try:
            async with asyncio.timeout(10):
                await work(slices, rows)
        finally:
            for each in slices:
                await each.close()

    asyncio.run(main())


@pytest.mark.long
def test_the_first_request_waits_and_the_next_ones_do_not() -> None:
    async def work(slices: list[SpendSlice], rows: list[Row]) -> None:
        first, stop = slices[0], asyncio.Event()
        assert not first.reserve(sending(1))
        await first.wait_for_room(sending(1), stop)
        assert first.reserve(sending(1)), "what it waited for is kept for it"
        await asyncio.sleep(0.5)
        assert all(first.reserve(sending(number)) for number in range(2, 5))

    with_slices(1_000, work)


@pytest.mark.long
def test_what_another_one_holds_unused_is_given_back_before_the_run_is_over() -> None:
    async def work(slices: list[SpendSlice], rows: list[Row]) -> None:
        first, second = slices
        stop = asyncio.Event()
        await first.wait_for_room(sending(1), stop)
        assert first.reserve(sending(1))
        first.recorded(answered(1, tokens=1))
        await second.wait_for_room(sending(2), stop)
        assert second.reserve(sending(2))

    with_slices(6, work)


@pytest.mark.long
def test_one_that_has_nothing_to_tell_gives_back_what_it_holds_unused() -> None:
    async def work(slices: list[SpendSlice], rows: list[Row]) -> None:
        first, second = slices
        stop = asyncio.Event()
        await first.wait_for_room(sending(1), stop)
        assert first.reserve(sending(1))
        first.recorded(answered(1, tokens=1))
        await asyncio.sleep(3)  # it has all that it wants, and has told so
        held = rows[0].run["rows"][0].reserved
        rows[0].run["ceiling"] = held + 1 + WORST - 1  # others spent the rest
        await second.wait_for_room(sending(2), stop)
        assert second.reserve(sending(2))

    with_slices(1_000, work)


@pytest.mark.long
def test_it_is_over_when_it_would_not_fit_even_if_all_in_flight_cost_nothing() -> None:
    async def work(slices: list[SpendSlice], rows: list[Row]) -> None:
        first, second = slices
        stop = asyncio.Event()
        await first.wait_for_room(sending(1), stop)
        assert first.reserve(sending(1))
        waiting = asyncio.create_task(second.wait_for_room(sending(2), stop))
        await asyncio.sleep(0.5)
        assert not waiting.done(), "what is in flight may cost less"
        first.recorded(answered(1, tokens=2))
        with pytest.raises(SpendCeilingReached, match=r"\$2\.00 spent; the next"):
            await waiting

    with_slices(6, work)


@pytest.mark.long
def test_what_a_dead_worker_reserved_is_counted_again() -> None:
    async def work(slices: list[SpendSlice], rows: list[Row]) -> None:
        rows[0].run["rows"] = {9: SpendState(reserved=Decimal(6))}
        await slices[0].wait_for_room(sending(1), asyncio.Event())
        assert rows[0].dead_counted == 1

    with_slices(6, work)


@pytest.mark.long
def test_who_waits_hears_that_the_record_of_a_dead_worker_cannot_be_read() -> None:
    async def work(slices: list[SpendSlice], rows: list[Row]) -> None:
        rows[0].run["rows"] = {9: SpendState(reserved=Decimal(6))}
        rows[0].unreadable = ImpossibleHistory("damaged")
        with pytest.raises(ImpossibleHistory):
            await slices[0].wait_for_room(sending(1), asyncio.Event())

    with_slices(6, work)


def test_who_waits_stops_with_the_run() -> None:
    async def work(slices: list[SpendSlice], rows: list[Row]) -> None:
        rows[0].error = psycopg.OperationalError("away")
        stop = asyncio.Event()
        waiting = asyncio.create_task(slices[0].wait_for_room(sending(1), stop))
        await asyncio.sleep(0.1)
        stop.set()
        await waiting

    with_slices(6, work)


@pytest.mark.long
def test_an_outage_is_waited_for_and_a_lost_shard_ends_it() -> None:
    async def work(slices: list[SpendSlice], rows: list[Row]) -> None:
        rows[0].error = psycopg.OperationalError("away")
        waiting = asyncio.create_task(slices[0].wait_for_room(sending(1), asyncio.Event()))
        await asyncio.sleep(0.3)
        rows[0].error = None
        await waiting
        rows[0].error = LeaseLost("taken over")
        for _ in range(2):
            with pytest.raises(LeaseLost):
                await slices[0].wait_for_room(sending(2), asyncio.Event())

    with_slices(600, work)


@pytest.mark.long
def test_what_was_promised_to_a_request_that_is_given_up_is_free_for_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(spend_slice, "PROMISED_S", 60.0)

    async def work(slices: list[SpendSlice], rows: list[Row]) -> None:
        first, second = slices
        stop = asyncio.Event()
        await first.wait_for_room(sending(1), stop)
        waiting = asyncio.create_task(second.wait_for_room(sending(2), stop))
        await asyncio.sleep(0.5)
        assert not waiting.done()
        first.withdraw(sending(1))
        await waiting
        assert second.reserve(sending(2))

    with_slices(6, work)


@pytest.mark.long
def test_what_is_promised_and_not_used_for_long_is_free_for_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its server may let it wait for as long as a `Retry-After` says."""
    monkeypatch.setattr(spend_slice, "PROMISED_S", 1.5)

    async def work(slices: list[SpendSlice], rows: list[Row]) -> None:
        first, second = slices
        stop = asyncio.Event()
        await first.wait_for_room(sending(1), stop)
        waiting = asyncio.create_task(second.wait_for_room(sending(2), stop))
        await asyncio.sleep(1)
        assert not waiting.done(), "it is kept for a while"
        await waiting
        assert second.reserve(sending(2))
        assert not first.reserve(sending(1))
        second.recorded(answered(2, tokens=1))
        await first.wait_for_room(sending(1), stop)
        assert first.reserve(sending(1))

    with_slices(6, work)


@pytest.mark.long
def test_what_nobody_else_wants_is_kept_for_as_long_as_it_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(spend_slice, "PROMISED_S", 0.1)

    async def work(slices: list[SpendSlice], rows: list[Row]) -> None:
        await slices[0].wait_for_room(sending(1), asyncio.Event())
        await asyncio.sleep(2.5)
        assert slices[0].reserve(sending(1))

    with_slices(6, work)
