"""What the projections cost while they follow a run: the engine with them, against without."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator
from typing import Literal

from tests.benchmarks.installation import installation
from tests.benchmarks.measured import Benchmark, Measure, Measurement, Row, Sizes, TargetFigure
from tests.benchmarks.reach.runs import facts, server, working_folder, write_run

ROWS = (
    Row(
        "live-cost",
        "evaluations/s with the projections following, against without",
        "of without",
        "The run of 10,000, called from Python, with the projections' process beside it and "
        "without one, in turn: from the first `RequestSent` to `RunCompleted`. No signer beside "
        "it in either.",
        TargetFigure(">=", 0.95),
    ),
)
_RUN = """
import asyncio, contextlib, json, resource, sys
from pathlib import Path
from failproof_es.configuration.loading import load_configuration
from failproof_es.engine.lifecycle import start
from failproof_es.store.store import Store
from projections.follower import Follower
url, follow = sys.argv[1], sys.argv[2] == "following"
with Store.open(url) as store:
    loaded = load_configuration(Path("run.yaml"))
    with Follower(store.projections_url) if follow else contextlib.nullcontext():
        asyncio.run(start(
            loaded, store, observe=lambda event: None, stop=asyncio.Event(), say=lambda said: None
        ))
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(json.dumps(sum(each.ru_utime + each.ru_stime for each in used)))
"""
"""Run by the measured version's interpreter."""


@contextlib.contextmanager
def begin(python: str, sizes: Sizes) -> Iterator[Measure]:
    """A log of its own for each run."""
    yield lambda: _measure(python, sizes.cases)


def _measure(python: str, cases: int) -> Iterator[Measurement]:
    without, _, _ = _rate(python, cases, "alone")
    following, wall, cpu = _rate(python, cases, "following")
    yield Measurement(
        "live-cost", following / without, wall, cpu,
        f"{following:,.0f} evaluations/s with, {without:,.0f} without",
    )  # fmt: skip


def _rate(
    python: str, cases: int, how: Literal["following", "alone"]
) -> tuple[float, float, float]:
    """Evaluations a second, seconds on the clock, and of the processor (without the database)."""
    with server() as base_url, working_folder() as folder, installation(python) as one:
        write_run(folder, base_url, cases)
        done = subprocess.run(
            [python, "-c", _RUN, one.url, how], env=one.environment, cwd=folder, check=True,
            capture_output=True, text=True,
        )  # fmt: skip
        told = facts(one)
    assert told.scored == cases
    wall = told.completed - told.first_request
    return cases / wall, wall, float(json.loads(done.stdout))


BENCHMARKS = (Benchmark("live", ROWS, begin),)
