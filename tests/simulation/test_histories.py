"""What thousands of histories rely on: a seed makes one history, and faults do strike.

`python -m tests.simulation --seed N` shows one, `--histories 100000` runs many.
"""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import warnings

import pytest

from tests.simulation.many import HISTORIES, KINDS, blocks, history_of


def test_every_seed_of_the_test_command_is_run_once() -> None:
    seeds = [seed for kind in KINDS for block in blocks(kind) for seed in block]
    assert sorted(seeds) == list(range(HISTORIES))


def test_a_seed_makes_the_same_history_again() -> None:
    for seed in range(40):
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
    for seed in range(240):
        history = history_of(seed)
        history.run()
        topics.update(row.entry.topic for row in history.database.rows)
        told += history.trace
    assert topics >= {
        "AttemptLost", "Classified", "ErrorRecorded", "EvaluationAbandoned", "Judged",
        "LimitChanged", "ResponseReceived", "RunCompleted", "RunFailed", "RunPaused",
        "RunResumed", "RunSealed", "Scored", "SpendCeilingChanged", "ValidationFailed",
        "WorkerJoined", "WorkerLeft",
    }  # fmt: skip
    story = "\n".join(told)
    for end in (
        "LeaseLost", "RunBusy", "LogUnavailable", "kill", "stopped", "outage", "clock",
        "is alone", "job was lost", "job was doubled", "job was stuck", "spend ceiling",
    ):  # fmt: skip
        assert end in story, end


def test_a_history_leaves_nothing_that_warns_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """The warning would strike another test. What a killed worker's cleanup begins must not be
    kept in a real loop, either, as there is one if a test made it."""
    unraisable: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda said: unraisable.append(said.exc_value))
    real = asyncio.new_event_loop()
    asyncio.set_event_loop(real)
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            for seed in range(KINDS.index("workers"), 300, len(KINDS)):
                history_of(seed).run()
            gc.collect()
            kept = asyncio.all_tasks(real)
    finally:
        asyncio.set_event_loop(None)
        real.close()
    assert (kept, [str(each.message) for each in warned], unraisable) == (set(), [], [])
