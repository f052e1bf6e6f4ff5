"""Thousands of histories of the engine under faults, each made by its seed.

`python -m tests.simulation --seed N` shows one, `--histories 100000` runs more.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.simulation.__main__ import broken_in
from tests.simulation.workers import history_of

_HISTORIES = 5_000
_BLOCK = 250


@pytest.mark.parametrize("first", range(0, _HISTORIES, _BLOCK))
def test_every_invariant_holds_whatever_happens(first: int) -> None:
    wrong = broken_in(first, _BLOCK)
    told = [
        f"python -m tests.simulation --seed {seed}: {found[0]}" for seed, found in wrong.items()
    ]
    assert told == []


def test_a_seed_makes_the_same_history_again() -> None:
    for seed in range(50):
        history, again = history_of(seed), history_of(seed)
        history.run()
        again.run()
        assert again.trace == history.trace


def test_a_seed_makes_the_same_history_in_another_process() -> None:
    """Whatever hashes its strings have there."""
    history = history_of(14)
    history.run()
    command = [sys.executable, "-m", "tests.simulation", "--seed", "14"]
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    shown = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    assert f"fingerprint: {history.fingerprint()}" in shown.stdout


def test_what_can_happen_does_happen() -> None:
    """A simulation whose faults no longer strike would find nothing and say nothing."""
    topics: set[str] = set()
    told: list[str] = []
    for seed in range(400):
        history = history_of(seed)
        history.run()
        topics.update(row.entry.topic for row in history.database.rows)
        told += history.trace
    assert topics >= {
        "AttemptLost", "Classified", "ErrorRecorded", "EvaluationAbandoned", "LimitChanged",
        "ResponseReceived", "RunCompleted", "RunFailed", "RunPaused", "RunResumed", "RunSealed",
        "Scored",
    }  # fmt: skip
    story = "\n".join(told)
    for end in ("LeaseLost", "RunBusy", "LogUnavailable", "kill", "stopped", "outage", "clock"):
        assert end in story
