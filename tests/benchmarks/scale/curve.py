"""One size of run, from its plan to its rebuilt projections, stage by stage."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psutil

from tests.acceptance.commands import mock_server
from tests.benchmarks.installation import Installation, installation
from tests.benchmarks.reach.light_server import hold
from tests.benchmarks.reach.runs import run_command, working_folder, write_run
from tests.benchmarks.reach.server import counted
from tests.benchmarks.scale.sampling import Sampler

SERVER = "tests.benchmarks.reach.light_server"
MOST_TRANSCRIPTS = 100_000
"""A page with the transcripts of more failures is for nobody."""
_POLL_S = 0.2
_COUNTS = """
SELECT
    count(*),
    count(*) FILTER (WHERE topic IN ('Scored', 'EvaluationAbandoned')),
    count(*) FILTER (WHERE topic = 'AttemptOrphaned'),
    extract(epoch FROM max(recorded_at) FILTER (WHERE topic IN ('Scored', 'EvaluationAbandoned'))),
    extract(epoch FROM max(recorded_at) FILTER (WHERE topic = 'RunCompleted')),
    extract(epoch FROM max(recorded_at) FILTER (WHERE topic = 'RunSealed'))
FROM failproof.stored_events
"""
_ENDED = "SELECT count(*) FROM failproof.stored_events WHERE topic = 'Scored'"


@dataclass
class Curve:
    """What was measured of a size. Seconds on the clock, unless said otherwise."""

    cases: int
    workers: int
    planned_s: float | None = None
    """From the shell to the first request."""
    before_kill: int | None = None
    """Evaluations that had ended when all processes were killed."""
    first_rate: float | None = None
    """Evaluations a second until then."""
    resumed_s: float | None = None
    """From the shell to the next request."""
    second_rate: float | None = None
    """Evaluations a second from then to the last score."""
    ended_s: float | None = None
    """From the last score to `RunSealed`: the gates, the validation, the seal."""
    caught_up_s: float | None = None
    """From `RunSealed` to the end of the command: projections, checkpoint."""
    events: int | None = None
    lost: int | None = None
    """Attempts whose outcome nobody recorded."""
    asked_again: int | None = None
    """Requests that the server got once more."""
    database_bytes: int | None = None
    rates_s: float | None = None
    """`report --format csv`: the rates, without a transcript."""
    report_s: float | None = None
    """`report`: one page with the transcript of each failure. Up to `MOST_TRANSCRIPTS` cases."""
    verify_s: float | None = None
    rebuild_s: float | None = None
    peaks_mb: dict[str, float] = field(default_factory=dict)
    """By kind of process; of the commands that read, by their name."""
    cpu_s: dict[str, float] = field(default_factory=dict)
    """Of the processor, by kind of process."""
    most_behind: int | None = None
    """Positions of the log that a projection had not read yet, at most."""
    watched: dict[str, Any] = field(default_factory=dict)
    """All samples, by stage."""


Keep = Callable[[dict[str, Any]], None]


def measure(
    python: str, cases: int, workers: int, connections: int, latency_ms: float, keep: Keep
) -> Curve:
    """Measure one size; `keep` gets what is known after each stage. Raises `RuntimeError`."""
    curve = Curve(cases, workers)
    with (
        mock_server(latency_ms, SERVER, warm=False) as base_url,
        working_folder() as folder,
        installation(python) as one,
    ):
        write_run(folder, base_url, cases, connections)
        [empty] = one.ask("SELECT pg_database_size(current_database())")
        several = ("--workers", str(workers)) if workers > 1 else ()
        _until_killed(one, folder, base_url, curve, ("start", "run.yaml", *several, "--quiet"))
        keep(asdict(curve))
        _until_ended(one, folder, base_url, curve, ("resume", "1", *several, "--quiet"))
        [size] = one.ask("SELECT pg_database_size(current_database())")
        curve.database_bytes = size - empty
        curve.asked_again = counted(base_url)["again"]
        keep(asdict(curve))
        for name, arguments in (
            ("verify", ("verify", "1")),
            ("rates", ("report", "1", "--format", "csv", "--output", "rates.csv")),
            ("rebuild", ("projections", "rebuild")),
            ("report", ("report", "1", "--format", "html", "--output", "report.html")),
        ):
            if name == "report" and cases > MOST_TRANSCRIPTS:
                continue
            ran = run_command(one, folder, *arguments)
            setattr(curve, f"{name}_s", ran.wall_s)
            curve.peaks_mb[name] = ran.watch.peak_mb
            keep(asdict(curve))
    return curve


def _until_killed(
    one: Installation, folder: Path, base_url: str, curve: Curve, command: tuple[str, ...]
) -> None:
    """Begin the run, and kill all of its processes when half of its requests have come.

    The last quarter is not answered: a kill that comes late leaves something to resume.
    """
    hold(base_url, curve.cases * 3 // 4)
    with _begun(one, folder, command, curve, "first") as (process, began):
        first = _wait(process, base_url, 1)
        curve.planned_s = first - began
        killed = _wait(process, base_url, max(curve.cases // 2, 2))
        kill_all(process)
    [ended] = one.ask(_ENDED)
    curve.before_kill, curve.first_rate = ended, ended / max(killed - first, _POLL_S)


def _until_ended(
    one: Installation, folder: Path, base_url: str, curve: Curve, command: tuple[str, ...]
) -> None:
    """Resume the run to its end."""
    hold(base_url, None)
    before = counted(base_url)["requests"]
    with _begun(one, folder, command, curve, "second") as (process, began):
        first = _wait(process, base_url, before + 1)
        curve.resumed_s = first - began
        code, ended = process.wait(), time.time()
    if code != 0:
        raise RuntimeError(f"{' '.join(command)} exited {code}: {_said(folder)}")
    events, finished, lost, scored, completed, sealed = one.ask(_COUNTS)
    if finished != curve.cases or completed is None:
        raise RuntimeError(f"{finished} of {curve.cases} evaluations have ended")
    curve.events, curve.lost = events, lost
    curve.second_rate = (finished - (curve.before_kill or 0)) / max(float(scored) - first, _POLL_S)
    curve.ended_s, curve.caught_up_s = float(sealed) - float(scored), ended - float(sealed)


@contextlib.contextmanager
def _begun(
    one: Installation, folder: Path, command: tuple[str, ...], curve: Curve, stage: str
) -> Iterator[tuple[subprocess.Popen[bytes], float]]:
    began = time.time()
    with (folder / "said.txt").open("wb") as said:
        process = subprocess.Popen(
            one.command(*command), env=one.environment, cwd=folder, stdout=subprocess.DEVNULL,
            stderr=said, start_new_session=True,
        )  # fmt: skip
    every_s = 1.0 if curve.cases <= 100_000 else 10.0
    sampler = Sampler(process.pid, one.server_pid, one.server.url, every_s)
    try:
        yield process, began
    finally:
        sampler.close()
        kill_all(process)
        curve.watched[stage] = sampler.document()
        curve.most_behind = max(curve.most_behind or 0, sampler.most_behind)
        for name, kind in sampler.kinds.items():
            curve.peaks_mb[name] = max(curve.peaks_mb.get(name, 0.0), round(kind.peak_mb, 1))
            curve.cpu_s[name] = curve.cpu_s.get(name, 0.0) + kind.cpu_s


def kill_all(process: subprocess.Popen[bytes]) -> None:
    """`kill -9` of a command and of everything that it started, in sessions of their own or not."""
    below: list[psutil.Process] = []
    with contextlib.suppress(psutil.Error):
        below = psutil.Process(process.pid).children(recursive=True)
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGKILL)
    for each in below:
        with contextlib.suppress(psutil.Error):
            each.kill()
    process.wait()


def _wait(process: subprocess.Popen[bytes], base_url: str, requests: int) -> float:
    """Wait until the server has so many requests; when that was."""
    while counted(base_url)["requests"] < requests:
        if process.poll() is not None:
            raise RuntimeError(f"the command exited {process.returncode} before that")
        time.sleep(_POLL_S)
    return time.time()


def _said(folder: Path) -> str:
    return (folder / "said.txt").read_text(encoding="utf-8", errors="replace")[-500:]
