"""What a worker decides about runs, from what is known of them."""

from __future__ import annotations

from uuid import UUID

import pytest

from failproof_es.core.sharding.decisions import (
    Choice,
    OpenRun,
    OpenRunStage,
    Step,
    died_between,
    leaves,
    may_send,
    replacement_wait_s,
)
from failproof_es.core.sharding.shards import ShardId

RUN = UUID(int=7)


def open_run(standing: OpenRunStage = "running", finished: int = 0) -> OpenRun:
    return OpenRun(RUN, pieces=100, shard_pieces=6, stage=standing, finished=finished)


@pytest.mark.parametrize(
    ("standing", "finished", "step"),
    [
        ("running", 0, "drive"),
        ("running", 16, "drive"),
        ("running", 17, "finish"),
        ("paused", 0, "close"),
        ("paused", 17, "close"),
        ("ended", 17, "finish"),
        ("ended", 3, "finish"),
        ("sealed", 17, "close"),
        ("sealed", 0, "close"),
    ],
)
def test_what_is_done_about_a_run(standing: OpenRunStage, finished: int, step: Step) -> None:
    run = open_run(standing, finished)
    assert run.shards == 17
    assert run.step == step


@pytest.mark.parametrize(
    ("choice", "providers", "taken"),
    [
        (Choice(), {"openai"}, True),
        (Choice(RUN), {"openai"}, True),
        (Choice(UUID(int=8)), {"openai"}, False),
        (Choice(providers=frozenset({"openai"})), {"openai"}, True),
        (Choice(providers=frozenset({"openai"})), {"openai", "ollama"}, False),
        (Choice(providers=frozenset({"openai", "ollama"})), {"ollama"}, True),
        (Choice(RUN, frozenset({"ollama"})), {"openai"}, False),
    ],
)
def test_a_worker_takes_only_runs_that_it_can_ask_everybody_of(
    choice: Choice, providers: set[str], taken: bool
) -> None:
    assert choice.takes(RUN, providers) is taken


@pytest.mark.parametrize("draining", [True, False])
@pytest.mark.parametrize("runs", [0, 1])
@pytest.mark.parametrize("active", [0, 1])
def test_only_one_that_drains_leaves_and_not_while_a_run_is_open(
    draining: bool, runs: int, active: int
) -> None:
    expected = draining and not runs and not active
    assert leaves([open_run()] * runs, draining=draining, active=active) is expected


def test_nothing_is_sent_under_a_lease_that_may_have_ended() -> None:
    assert may_send(0.1)
    assert not may_send(0.0)
    assert not may_send(-3.0)


def test_a_worker_that_keeps_dying_is_replaced_later_each_time_and_then_no_more() -> None:
    waits = [replacement_wait_s(deaths) for deaths in range(1, 8)]
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, None, None]


def test_a_holder_died_if_two_looks_found_the_same_lease_without_its_session() -> None:
    first, second = ShardId(RUN, 1), ShardId(RUN, 2)
    assert died_between([], [(first, 1)]) == []
    assert died_between([(first, 1), (second, 4)], [(second, 4), (first, 1)]) == [first, second]
    assert died_between([(first, 1)], [(first, 2)]) == [], "somebody has it since"
    assert died_between([(first, 1)], []) == [], "it showed its new session"
