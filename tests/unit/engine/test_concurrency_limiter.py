"""The gate before a server: one Retry-After holds everybody back, a stop lets everybody go."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from failproof_es.configuration.schema import Model
from failproof_es.engine.limits.concurrency_limiter import ConcurrencyLimiter, LimitUpdate
from failproof_es.engine.limits.fair_semaphore import FairSemaphore
from failproof_es.models import server_of
from failproof_es.models.protocol import ModelError

PATIENCE_S = 900.0


def at_a_gate(
    work: Callable[[ConcurrencyLimiter], Awaitable[None]], ceiling: int = 4
) -> list[LimitUpdate]:
    changes: list[LimitUpdate] = []

    async def main() -> None:
        gate = ConcurrencyLimiter(
            "http://here/v1", ["a", "b"], ceiling, FairSemaphore(ceiling), PATIENCE_S
        )
        gate.on_change = changes.append
        async with asyncio.timeout(5):
            await work(gate)

    asyncio.run(main())
    return changes


def at_two_gates(work: Callable[[ConcurrencyLimiter, ConcurrencyLimiter], Awaitable[None]]) -> None:
    """Of two servers, in a run that may have one request in flight."""

    async def main() -> None:
        slots = FairSemaphore(1)
        async with asyncio.timeout(5):
            await work(
                *(
                    ConcurrencyLimiter(f"http://{name}/v1", [name], 1, slots, PATIENCE_S)
                    for name in ("a", "b")
                )
            )

    asyncio.run(main())


async def entered(gate: ConcurrencyLimiter) -> float:
    assert await gate.acquire()
    at = await gate.wait_to_send()
    assert at is not None
    return at


async def stays_out(gate: ConcurrencyLimiter) -> bool:
    waiting = asyncio.create_task(gate.acquire())
    await asyncio.sleep(0.02)
    waiting.cancel()
    return not waiting.done()


def test_no_more_than_the_limit_are_inside_and_the_next_one_follows_who_leaves() -> None:
    async def work(gate: ConcurrencyLimiter) -> None:
        for _ in range(4):
            await entered(gate)
        next_one = asyncio.create_task(gate.acquire())
        await asyncio.sleep(0.02)
        assert not next_one.done()
        gate.release(was_sent=True)
        assert await next_one

    assert at_a_gate(work) == []


def test_a_retry_after_holds_back_everybody_until_it_is_over() -> None:
    async def work(gate: ConcurrencyLimiter) -> None:
        first = await entered(gate)
        began = time.monotonic()
        gate.on_error(first, "server_error", 0.3)
        gate.release(was_sent=True)
        await asyncio.gather(*(gate.acquire() for _ in range(3)))
        assert time.monotonic() - began >= 0.29

    held, released = at_a_gate(work)
    assert (held.reason, held.retry_after_s) == ("retry_after", 0.3)
    assert held.held_until is not None
    assert (held.limit_before, held.limit_after) == (4, 4)
    assert released.reason == "released" and released.held_until is None


def test_a_request_that_entered_before_the_hold_waits_for_its_end_as_well() -> None:
    async def work(gate: ConcurrencyLimiter) -> None:
        first = await entered(gate)
        assert await gate.acquire()
        began = time.monotonic()
        gate.on_error(first, "rate_limited", 0.2)
        await gate.wait_to_send()
        assert time.monotonic() - began >= 0.19
        gate.on_answer(first)

    changes = at_a_gate(work)
    assert [change.reason for change in changes] == ["rate_limited", "released"]


def test_a_later_shorter_retry_after_does_not_open_the_gate_early() -> None:
    async def work(gate: ConcurrencyLimiter) -> None:
        first = await entered(gate)
        began = time.monotonic()
        gate.on_error(first, "rate_limited", 0.3)
        gate.on_error(first, "rate_limited", 0.05)
        await gate.acquire()
        assert time.monotonic() - began >= 0.29

    changes = at_a_gate(work)
    assert [change.reason for change in changes] == ["rate_limited", "released"]


def test_a_429_halves_what_may_go_at_once_and_answers_bring_it_back() -> None:
    async def work(gate: ConcurrencyLimiter) -> None:
        for _ in range(4):
            first = await entered(gate)
        gate.on_error(first, "rate_limited", None)
        for _ in range(2):
            gate.release(was_sent=True)
        assert await stays_out(gate)
        gate.release(was_sent=True)
        second = await entered(gate)
        for _ in range(20):
            gate.on_answer(second)

    changes = at_a_gate(work)
    assert [(c.reason, c.limit_before, c.limit_after) for c in changes] == [
        ("rate_limited", 4, 2),
        ("recovered", 2, 3),
        ("recovered", 3, 4),
    ]


def test_a_stop_lets_nobody_wait() -> None:
    async def work(gate: ConcurrencyLimiter) -> None:
        first = await entered(gate)
        gate.on_error(first, "rate_limited", 60.0)
        waiting = [asyncio.create_task(gate.acquire()) for _ in range(3)]
        await asyncio.sleep(0.02)
        gate.close()
        assert await asyncio.gather(*waiting) == [False, False, False]
        assert not await gate.acquire()

    at_a_gate(work)


def test_a_stop_lets_nobody_send_who_is_held_back_and_everybody_else() -> None:
    async def work(gate: ConcurrencyLimiter) -> None:
        first = await entered(gate)
        assert await gate.acquire()
        gate.on_error(first, "server_error", 60.0)
        held_back = asyncio.create_task(gate.wait_to_send())
        await asyncio.sleep(0.02)
        gate.close()
        assert await held_back is None

    async def unheld(gate: ConcurrencyLimiter) -> None:
        assert await gate.acquire()
        gate.close()
        assert await gate.wait_to_send() is not None

    at_a_gate(work)
    at_a_gate(unheld)


def test_a_request_counts_as_sent_when_it_goes_not_when_it_entered() -> None:
    """Else a 429 to what went after the halving would not halve again."""

    async def work(gate: ConcurrencyLimiter) -> None:
        first = await entered(gate)
        assert await gate.acquire()
        gate.on_error(first, "rate_limited", 0.05)
        second = await gate.wait_to_send()
        assert second is not None and second > first
        gate.on_error(second, "rate_limited", None)

    changes = at_a_gate(work)
    assert [(c.limit_before, c.limit_after) for c in changes] == [(4, 2), (2, 2), (2, 1)]


def test_a_hold_that_gets_longer_by_a_second_is_a_change_by_less_it_is_not() -> None:
    async def work(gate: ConcurrencyLimiter) -> None:
        first = await entered(gate)
        for wait_s in (60.0, 60.5, 63.0):
            gate.on_error(first, "server_error", wait_s)

    assert [change.retry_after_s for change in at_a_gate(work)] == [60.0, 63.0]


def test_a_503_with_a_retry_after_holds_and_does_not_halve() -> None:
    async def work(gate: ConcurrencyLimiter) -> None:
        gate.on_error(await entered(gate), "server_error", 60.0)

    (held,) = at_a_gate(work)
    assert (held.limit_before, held.limit_after, held.reason) == (4, 4, "retry_after")


def test_a_restored_hold_that_still_runs_holds_and_one_that_is_over_does_not() -> None:
    async def still_runs(gate: ConcurrencyLimiter) -> None:
        began = time.monotonic()
        gate.restore(1, datetime.now(UTC) + timedelta(seconds=0.2))
        await entered(gate)
        assert time.monotonic() - began >= 0.19
        assert await stays_out(gate)

    async def is_over(gate: ConcurrencyLimiter) -> None:
        gate.restore(2, datetime.now(UTC) - timedelta(seconds=1))
        await entered(gate)
        await entered(gate)
        assert await stays_out(gate)

    assert [change.reason for change in at_a_gate(still_runs)] == ["released"]
    assert at_a_gate(is_over) == []


def test_who_waits_at_a_gate_that_is_held_leaves_the_other_servers_their_room() -> None:
    async def work(held: ConcurrencyLimiter, free: ConcurrencyLimiter) -> None:
        held.on_error(0.0, "server_error", 60.0)
        waiting = asyncio.create_task(held.acquire())
        await entered(free)
        free.release(was_sent=True)
        assert not waiting.done()
        waiting.cancel()

    at_two_gates(work)


def test_a_hold_that_begins_while_a_request_waits_for_room_is_kept() -> None:
    async def work(held: ConcurrencyLimiter, free: ConcurrencyLimiter) -> None:
        await entered(free)
        waiting = asyncio.create_task(held.acquire())
        await asyncio.sleep(0.02)
        held.on_error(0.0, "server_error", 0.1)
        free.release(was_sent=True)
        await entered(free)
        assert not waiting.done()
        free.release(was_sent=True)
        assert await waiting

    at_two_gates(work)


def test_a_request_that_is_held_back_gives_its_room_away_and_takes_it_again_to_go() -> None:
    async def work(held: ConcurrencyLimiter, free: ConcurrencyLimiter) -> None:
        assert await held.acquire()
        held.on_error(0.0, "server_error", 0.05)
        held_back = asyncio.create_task(held.wait_to_send())
        await entered(free)
        await asyncio.sleep(0.1)
        assert not held_back.done(), "two requests would be in flight where one may be"
        free.release(was_sent=True)
        assert await held_back is not None
        assert not free.is_open
        held.release(was_sent=True)
        assert free.is_open

    at_two_gates(work)


@pytest.mark.parametrize("retry_after_s", [0.05, None])
def test_what_has_entered_already_goes_by_the_halved_limit(retry_after_s: float | None) -> None:
    async def work(gate: ConcurrencyLimiter) -> None:
        first = await entered(gate)
        for _ in range(7):
            assert await gate.acquire()
        gate.on_error(first, "rate_limited", retry_after_s)
        inside = [asyncio.create_task(gate.wait_to_send()) for _ in range(7)]
        gate.release(was_sent=True)
        for gone in range(4, 8):
            await asyncio.sleep(0.1 if gone == 4 else 0.01)
            assert sum(task.done() for task in inside) == gone, "4 may be under way"
            gate.release(was_sent=True)
        assert all(task.result() for task in inside)

    changes = at_a_gate(work, ceiling=8)
    assert (changes[0].limit_before, changes[0].limit_after) == (8, 4)


def test_a_stop_sends_nothing_that_waits_for_the_halved_limit() -> None:
    async def work(gate: ConcurrencyLimiter) -> None:
        for _ in range(3):
            first = await entered(gate)
        assert await gate.acquire()
        gate.on_error(first, "rate_limited", None)
        waits = asyncio.create_task(gate.wait_to_send())
        await asyncio.sleep(0.02)
        gate.close()
        assert await waits is None

    at_a_gate(work)


def test_a_server_that_turns_everything_away_for_too_long_is_named_until_it_answers() -> None:
    async def work(gate: ConcurrencyLimiter) -> None:
        long_ago = time.monotonic() - PATIENCE_S - 1
        recently = time.monotonic() - 1
        gate.on_error(recently, "rate_limited", None)
        assert gate.pause_reason is None
        gate.on_answer(recently)
        gate.on_error(long_ago, "rate_limited", None)
        assert gate.pause_reason is not None
        for word in ("http://here/v1", "for 901 s", "900 s", "execution.rate_limit_wait_ms"):
            assert word in gate.pause_reason
        gate.on_answer(long_ago)
        assert gate.pause_reason is None
        gate.on_error(recently, "rate_limited", None)
        assert gate.pause_reason is None, "it answered meanwhile"

    at_a_gate(work)


def test_errors_that_say_nothing_of_coming_back_later_try_nobodys_patience() -> None:
    async def work(gate: ConcurrencyLimiter) -> None:
        for kind in ("server_error", "timeout", "connection"):
            gate.on_error(time.monotonic() - 2 * PATIENCE_S, kind, None)
        assert gate.pause_reason is None

    at_a_gate(work)


def test_errors_of_a_server_that_is_down_are_deferred_and_end_the_wait() -> None:
    async def work(gate: ConcurrencyLimiter) -> None:
        refused = ModelError("connection", "refused", "transient")
        assert gate.disposition_of(refused, UUID(int=1)) == "transient"
        assert gate.disposition_of(refused, UUID(int=2)) == "deferred"
        assert gate.disposition_of(refused, UUID(int=1)) == "deferred"
        broken = ModelError("server_error", "HTTP 500", "transient", status=500)
        assert gate.disposition_of(broken, UUID(int=1)) == "transient"
        gate.on_error(time.monotonic() - 2 * PATIENCE_S, "connection", None, deferred=True)
        assert gate.pause_reason is not None
        gate.on_answer(await entered(gate))
        assert gate.pause_reason is None
        assert gate.disposition_of(refused, UUID(int=1)) == "transient"

    at_a_gate(work)


def test_a_hold_that_would_last_longer_than_the_run_waits_is_said_at_once() -> None:
    async def work(gate: ConcurrencyLimiter) -> None:
        gate.on_error(await entered(gate), "server_error", PATIENCE_S + 10)
        assert gate.pause_reason is not None and "asks to wait 910 s" in gate.pause_reason
        assert re.search(r", until 20\d\d-\d\d-\d\dT[\d:]{8}Z$", gate.pause_reason)

    at_a_gate(work)


def test_a_slash_at_the_end_makes_no_other_server() -> None:
    def server(base_url: str) -> str:
        return server_of(Model(provider="openai", model="m", base_url=base_url))

    assert server("http://here/v1/") == server("http://here/v1") != server("http://there/v1")


def test_a_hold_that_another_worker_was_told_holds_and_is_not_recorded_here() -> None:
    async def work(gate: ConcurrencyLimiter) -> None:
        gate.hold(0.2)
        assert await stays_out(gate)
        await entered(gate)

    assert at_a_gate(work) == []


def test_a_hold_elsewhere_that_is_longer_than_the_run_waits_lets_nobody_wait() -> None:
    async def work(gate: ConcurrencyLimiter) -> None:
        waiting = [asyncio.create_task(gate.acquire()) for _ in range(6)]
        await asyncio.sleep(0.02)
        gate.hold(PATIENCE_S)
        assert await waiting[-1] is False
        assert gate.refused_elsewhere is not None and "asks to wait 900 s" in gate.refused_elsewhere

    assert at_a_gate(work) == []


def test_too_many_requests_elsewhere_halve_the_limit_here() -> None:
    async def work(gate: ConcurrencyLimiter) -> None:
        gate.cut()
        await entered(gate)
        await entered(gate)
        assert await stays_out(gate)

    assert at_a_gate(work) == []


def test_an_answer_elsewhere_ends_the_time_in_which_everything_was_refused() -> None:
    async def work(gate: ConcurrencyLimiter) -> None:
        gate.on_error(await entered(gate), "rate_limited", PATIENCE_S)
        assert gate.pause_reason is not None
        gate.hear_of_answer(60.0)
        assert gate.pause_reason is not None, "that was before"
        gate.hear_of_answer(0.0)
        assert gate.pause_reason is None

    at_a_gate(work)
