"""The histories of the fast set, and what thousands more rely on: a seed makes one history, and
faults do strike.

`python -m tests.simulation --seed N` shows one, `--histories 100000` runs many.
"""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import warnings
from collections.abc import Mapping
from typing import NamedTuple

import pytest

from tests.simulation.invariants import violations
from tests.simulation.many import FAST, HISTORIES, KINDS, blocks, command_of, history_of

_REPEATED = 16
"""Histories that are run again."""


class EndedHistory(NamedTuple):
    """A history that was run."""

    violations: list[str]
    trace: list[str]
    topics: frozenset[str]


@pytest.fixture(scope="module")
def histories() -> Mapping[int, EndedHistory]:
    """The histories of the fast set by seed."""
    ended = {}
    for seed in range(FAST):
        history = history_of(seed)
        history.run()
        topics = frozenset(row.entry.topic for row in history.database.rows)
        ended[seed] = EndedHistory(violations(history), history.trace, topics)
    return ended


@pytest.mark.parametrize("kind", KINDS)
def test_every_invariant_holds_whatever_happens(
    histories: Mapping[int, EndedHistory], kind: str
) -> None:
    seeds = range(KINDS.index(kind), FAST, len(KINDS))
    broken = {seed: wrong for seed in seeds if (wrong := histories[seed].violations)}
    assert not broken, "\n".join(f"{command_of(seed)}: {broken[seed][0]}" for seed in broken)


def test_every_seed_is_run_once() -> None:
    """By the fast set, or by one of the four files of the slow set."""
    seeds = [seed for kind in KINDS for block in blocks(kind) for seed in block]
    assert sorted([*range(FAST), *seeds]) == list(range(HISTORIES))


def test_a_seed_makes_the_same_history_again(histories: Mapping[int, EndedHistory]) -> None:
    for seed in range(_REPEATED):
        history = history_of(seed)
        history.run()
        assert history.trace == histories[seed].trace


@pytest.mark.slow
def test_a_seed_makes_the_same_history_in_another_process() -> None:
    """Whatever hashes its strings have there."""
    history = history_of(14)
    history.run()
    command = [sys.executable, "-m", "tests.simulation", "--seed", "14"]
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    shown = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    assert f"fingerprint: {history.fingerprint()}" in shown.stdout


def test_what_can_happen_does_happen(histories: Mapping[int, EndedHistory]) -> None:
    """A simulation whose faults no longer strike would find nothing and say nothing."""
    topics = frozenset().union(*(ended.topics for ended in histories.values()))
    assert topics >= {
        "AttemptOrphaned", "Classified", "ErrorRecorded", "EvaluationAbandoned", "Judged",
        "LimitChanged", "ResponseReceived", "RunCompleted", "RunFailed", "RunPaused",
        "RunResumed", "RunSealed", "Scored", "SpendCeilingChanged", "ValidationFailed",
        "WorkerJoined", "WorkerLeft",
    }  # fmt: skip
    story = "\n".join(line for ended in histories.values() for line in ended.trace)
    for end in (
        "LeaseLost", "RunBusy", "LogUnavailable", "kill", "stopped", "outage", "clock",
        "is alone", "job was lost", "job was doubled", "spend ceiling",
    ):  # fmt: skip
        assert end in story, end


@pytest.mark.parametrize("seeds", [100, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.slow
@pytest.mark.thinned(whole=1)
def test_a_history_leaves_nothing_that_warns_later(
    monkeypatch: pytest.MonkeyPatch, seeds: int
) -> None:
    """The warning would strike another test. What a killed worker's cleanup begins must not be
    kept in a real loop, either, as there is one if a test made it."""
    unraisable: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda said: unraisable.append(said.exc_value))
    real = asyncio.new_event_loop()
    asyncio.set_event_loop(real)
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            for seed in range(KINDS.index("workers"), seeds, len(KINDS)):
                history_of(seed).run()
            gc.collect()
            kept = asyncio.all_tasks(real)
    finally:
        asyncio.set_event_loop(None)
        real.close()
    assert (kept, [str(each.message) for each in warned], unraisable) == (set(), [], [])
