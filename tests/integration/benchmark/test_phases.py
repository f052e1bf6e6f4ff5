"""Two passes over one plan: every answer first, then every judgement."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from failproof_es.configuration.loading import LoadedConfiguration
from failproof_es.engine.drive_outcome import Outcome
from failproof_es.engine.lifecycle import resume, start
from failproof_es.engine.replays.replay import replay
from failproof_es.events import Event, Judged
from failproof_es.store.store import Store
from tests.integration.benchmark.conftest import Configured, Server
from tests.servers.benchmark_server import judge_says, proved


def run(loaded: LoadedConfiguration, store: Store) -> Outcome:
    async def started() -> Outcome:
        return await start(
            loaded, store, observe=lambda _: None, stop=asyncio.Event(), say=lambda _: None
        )

    return asyncio.run(started())


def test_judges_that_begin_after_all_answers_are_asked_when_every_model_has_answered(
    configured: Configured, store: Store, server: Server
) -> None:
    outcome = run(configured(), store)
    assert (outcome.status, outcome.counts.scored) == ("completed", 6)
    order = server.order()
    assert sorted(order[:6]) == ["alpha"] * 3 + ["beta"] * 3
    assert order[6:] == ["judge"] * 6
    assert replay(store, outcome.run_id).agree == 6


@pytest.mark.slow
@pytest.mark.parametrize("stops_at", [5, 8])
def test_a_run_stopped_in_either_pass_goes_on_where_it_stood(
    configured: Configured, store: Store, server: Server, stops_at: int
) -> None:
    loaded = configured()
    asked = 0

    async def stopped() -> Outcome:
        stop = asyncio.Event()

        def observe(event: Event) -> None:
            nonlocal asked
            asked += type(event).__name__ in ("ResponseReceived",)
            if asked >= stops_at:
                stop.set()

        return await start(loaded, store, observe=observe, stop=stop, say=lambda _: None)

    async def resumed(outcome: Outcome) -> Outcome:
        return await resume(
            outcome.run_id,
            store,
            observe=lambda _: None,
            stop=asyncio.Event(),
            say=lambda _: None,
        )

    first = asyncio.run(stopped())
    assert first.status == "paused"
    assert asyncio.run(resumed(first)).status == "completed"
    assert set(server.asked().values()) == {1}
    assert server.order()[6:] == ["judge"] * 6


@pytest.mark.slow
def test_an_unreadable_judgement_is_asked_for_again_and_what_stays_so_is_not_averaged_in(
    configured: Configured, store: Store, server: Server
) -> None:
    loaded = configured(
        f"once {judge_says('no JSON', 1)}",
        f"always {judge_says('no JSON')}",
        judging={"attempts": 3},
    )
    seen: list[Event] = []

    async def started() -> Outcome:
        return await start(
            loaded, store, observe=seen.append, stop=asyncio.Event(), say=lambda _: None
        )

    outcome = asyncio.run(started())
    assert (outcome.counts.scored, outcome.counts.abandoned) == (2, 2)
    problems = [each.problem for each in seen if isinstance(each, Judged) and each.problem]
    assert len(problems) == 2 * 1 + 2 * 3
    assert {problem.split(":")[0] for problem in problems} == {"no_object"}


class Meeting:
    """A judge that answers when as many are asked as the run has workers, and counts them."""

    together = threading.Barrier(2)
    asked = 0

    def __init__(self, api_key: str | None, model_id: str) -> None:
        self.name = model_id

    def get_completion(self, prompt: str, params: dict[str, Any]) -> str:
        type(self).asked += 1
        self.together.wait(timeout=30)
        return proved('{"score": 0.5, "reason": "They met."}', prompt)


@pytest.mark.slow
def test_each_answer_is_one_call_to_the_judge_and_as_many_go_at_once_as_there_are_workers(
    configured: Configured, store: Store
) -> None:
    judge = {"provider": "python", "class": f"{__name__}:Meeting", "model": "judge"}
    outcome = run(configured(judge=judge), store)
    assert (outcome.counts.scored, Meeting.asked) == (6, 6)
