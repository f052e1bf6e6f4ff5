"""Requests in flight, shared by servers: a slow one takes its share and not the others'."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from failproof_es.engine.limits.fair_semaphore import FairSemaphore


def with_slots(total: int, work: Callable[[FairSemaphore], Awaitable[None]]) -> None:
    async def main() -> None:
        async with asyncio.timeout(5):
            await work(FairSemaphore(total))

    asyncio.run(main())


def waiting_for(slots: FairSemaphore, *servers: str) -> list[asyncio.Task[None]]:
    return [asyncio.create_task(slots.acquire(server)) for server in servers]


async def settled() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


def test_the_next_one_goes_to_the_server_with_the_fewest_and_there_to_who_came_first() -> None:
    async def work(slots: FairSemaphore) -> None:
        for _ in range(4):
            await slots.acquire("slow")
        waiting = waiting_for(slots, "slow", "slow", "quick", "quick", "quick")
        await settled()
        order: list[int] = []
        for given_back in ("slow", "slow", "slow", "quick"):
            slots.release(given_back)
            await settled()
            order += [n for n, task in enumerate(waiting) if task.done() and n not in order]
        assert order == [2, 3, 0, 4]
        waiting[1].cancel()

    with_slots(4, work)


def test_a_server_that_never_answers_leaves_the_others_as_fast_as_they_are() -> None:
    async def work(slots: FairSemaphore) -> None:
        async def ask_quickly() -> None:
            for _ in range(25):
                await slots.acquire("quick")
                await asyncio.sleep(0)
                slots.release("quick")

        hanging = waiting_for(slots, *["down"] * 8)
        await settled()
        asking = [asyncio.create_task(ask_quickly()) for _ in range(4)]
        await settled()
        slots.release("down")  # one has timed out, the others never do
        await asyncio.gather(*asking)
        for task in hanging:
            task.cancel()

    with_slots(4, work)


def test_one_that_is_handed_to_who_is_cancelled_is_not_lost() -> None:
    async def work(slots: FairSemaphore) -> None:
        await slots.acquire("a")
        cancelled, other = waiting_for(slots, "b", "c")
        await settled()
        slots.release("a")
        cancelled.cancel()
        await other
        assert not slots.is_available
        slots.release("c")
        assert slots.is_available

    with_slots(1, work)
