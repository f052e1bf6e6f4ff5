"""A server that wants nothing for a while keeps its own models waiting, and no others."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import UUID

import pytest
from aiohttp import web

from failproof_es.configuration.loading import load_configuration
from failproof_es.engine.drive_outcome import Outcome
from failproof_es.engine.lifecycle import resume, start
from failproof_es.events import Event, RequestSent, RunResumed, Scored
from failproof_es.store.store import Store
from tests.acceptance.commands import write_suite
from tests.servers.mock_server import MockServer

CASES = 250
"""More than are read at once."""
WORKERS = 3


class HeldServer(MockServer):
    """Wants to be asked again in ten minutes."""

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        self.asked["anything"] += 1
        return web.Response(status=503, headers={"Retry-After": "600"})


class Watched(MockServer):
    """Knows how many requests it and its like had in flight at once; answers none before there
    are as many as workers."""

    together = 0
    most_together = 0
    enough = asyncio.Event()

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        Watched.together += 1
        Watched.most_together = max(Watched.most_together, Watched.together)
        if Watched.together == WORKERS:
            self.enough.set()
        try:
            await self.enough.wait()
            return await super()._complete(request)
        finally:
            Watched.together -= 1


def with_servers(
    first: MockServer, second: MockServer, work: Callable[[str, str], Awaitable[None]]
) -> None:
    async def main() -> None:
        try:
            async with asyncio.timeout(60):
                await work(await first.start(), await second.start())
        finally:
            await first.stop()
            await second.stop()

    asyncio.run(main())


async def run_of(
    store: Store,
    folder: Path,
    urls: dict[str, str],
    stop: asyncio.Event,
    observe: Callable[[Event], None],
    *,
    cases: int,
    workers: int,
) -> Outcome:
    write_suite(folder, cases)
    configuration = {
        "test_run": {"name": "two-servers"},
        "models": [{"provider": "openai", "base_url": urls[key], "model": key} for key in urls],
        "prompts": {"path": str(folder / "suite.jsonl"), "dialect": "failproof"},
        "execution": {"parallel_workers": workers, "retry_attempts": 1, "retry_delay_ms": 1},
    }
    (folder / "run.yaml").write_text(json.dumps(configuration))
    loaded = load_configuration(folder / "run.yaml")
    return await start(loaded, store, observe=observe, stop=stop, say=lambda remark: None)


@pytest.mark.slow
def test_the_models_of_other_servers_go_on_to_their_end_even_with_one_worker(
    store: Store, tmp_path: Path
) -> None:
    held, free = HeldServer(), MockServer()
    scored: list[str] = []

    async def work(held_url: str, free_url: str) -> None:
        stop = asyncio.Event()

        def observe(event: Event) -> None:
            if isinstance(event, Scored):
                scored.append(event.model_key)
                if len(scored) == CASES:
                    stop.set()

        urls = {"held": held_url, "free": free_url}
        outcome = await run_of(store, tmp_path, urls, stop, observe, cases=CASES, workers=1)
        assert (outcome.status, outcome.reason) == ("paused", "stopped on request")
        assert scored == ["free"] * CASES
        assert held.asked == {"anything": 1}
        await resumed(store, outcome.run_id)

    with_servers(held, free, work)
    assert held.asked == {"anything": 1} and set(free.asked.values()) == {1}


async def resumed(store: Store, run_id: UUID) -> None:
    """Take it up again and stop at once: nothing is asked twice, and the hold is kept."""
    stop = asyncio.Event()
    seen: list[type[Event]] = []

    def observe(event: Event) -> None:
        seen.append(type(event))
        if isinstance(event, RunResumed):
            asyncio.get_running_loop().call_later(0.5, stop.set)

    outcome = await resume(run_id, store, observe=observe, stop=stop, say=lambda remark: None)
    assert outcome.counts.finished == CASES
    assert RequestSent not in seen


def test_no_more_are_in_flight_over_all_servers_than_there_are_workers(
    store: Store, tmp_path: Path
) -> None:
    async def work(first: str, second: str) -> None:
        urls = {"one": first, "two": second}
        stop = asyncio.Event()
        outcome = await run_of(
            store, tmp_path, urls, stop, lambda event: None, cases=20, workers=WORKERS
        )
        assert outcome.counts.scored == 40
        assert Watched.most_together == WORKERS

    with_servers(Watched(0.01), Watched(0.01), work)
