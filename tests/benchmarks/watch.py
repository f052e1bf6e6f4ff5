"""Watching a command from outside: its processor time at any moment, and its peak memory."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

EVERY_S = 0.2


@dataclass
class Watch:
    """What a process and all below it used, and the database's processes, five times a second."""

    pid: int
    server_pid: int | None = None
    peak_mb: float = 0.0
    _at: list[float] = field(default_factory=list)
    _used: list[tuple[float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._look()
        self._thread.start()

    def close(self) -> None:
        """Look for the last time."""
        self._stop.set()
        self._thread.join()

    def between(self, begin: float, end: float) -> tuple[float, float]:
        """Seconds of the processor between two moments (`time.time()`): the command's, the
        database's."""
        (mine, its), (mine_before, its_before) = self._until(end), self._until(begin)
        return mine - mine_before, its - its_before

    def _until(self, moment: float) -> tuple[float, float]:
        place = min(max(bisect_left(self._at, moment), 1), len(self._at) - 1)
        (before, after), (began, ended) = (
            (self._used[place - 1], self._used[place]),
            (self._at[place - 1], self._at[place]),
        )
        part = min(max((moment - began) / max(ended - began, 1e-9), 0.0), 1.0)
        return (
            before[0] + part * (after[0] - before[0]),
            before[1] + part * (after[1] - before[1]),
        )

    def _watch(self) -> None:
        while not self._stop.wait(EVERY_S):
            self._look()
        self._look()

    def _look(self) -> None:
        last = self._used[-1] if self._used else (0.0, 0.0)
        mine = processor_s(self.pid)
        its = processor_s(self.server_pid) if self.server_pid else 0.0
        self._at.append(time.time())
        # A process that has gone leaves nothing behind: what it used does not become less.
        self._used.append((max(mine, last[0]), max(its, last[1])))
        self.peak_mb = max(self.peak_mb, peak_mb(self.pid))


def processor_s(pid: int) -> float:
    """Seconds of the processor of a process, of all below it, and of those that it waited for."""
    used = 0.0
    with contextlib.suppress(psutil.Error):
        top = psutil.Process(pid)
        for process in (top, *top.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                times = process.cpu_times()
                used += times.user + times.system + times.children_user + times.children_system
    return used


def exact_processor_s(pid: int) -> float:
    """Seconds of the processor of one process with its threads that still run, without others.

    To the nanosecond where the kernel tells: ticks of the clock are too coarse for a little work.
    """
    try:
        tasks = [file.read_text() for file in Path(f"/proc/{pid}/task").glob("*/schedstat")]
    except OSError:  # a thread has ended
        tasks = []
    if tasks:
        return sum(int(each.split()[0]) for each in tasks) / 1e9
    with contextlib.suppress(psutil.Error):
        times = psutil.Process(pid).cpu_times()
        return float(times.user + times.system)
    return 0.0


def sessions_s(server_pid: int) -> float:
    """Processor seconds of all sessions of a database server until now.

    What writes and vacuums behind the sessions' backs is not in it.
    """
    main = psutil.Process(server_pid)
    times = main.cpu_times()
    spent = float(times.children_user + times.children_system)
    for pid in _children(main):
        with contextlib.suppress(psutil.Error, OSError):
            if "[local]" in " ".join(psutil.Process(pid).cmdline()):
                spent += exact_processor_s(pid)
    return spent


def _children(process: psutil.Process) -> list[int]:
    """From the kernel, where it tells: psutil reads every process of the machine for it, in 3 ms.

    That would be more than what is measured.
    """
    try:
        file = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        return [int(pid) for pid in file.read_text(encoding="ascii").split()]
    except OSError:
        return [child.pid for child in process.children()]


def peak_mb(pid: int) -> float:
    """The most memory that a process has held, in MB; what it holds now where that is not told."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    except OSError:
        with contextlib.suppress(psutil.Error):
            return float(psutil.Process(pid).memory_info().rss) / 2**20
    return 0.0


@dataclass(frozen=True)
class Ran:
    """A command that has ended."""

    began: float
    """`time.time()`."""
    wall_s: float
    cpu_s: float
    """Of the command and what it started."""
    server_s: float
    """Of the database's processes meanwhile."""
    watch: Watch
    output: str
    code: int


def run_watched(
    command: Sequence[str], environment: Mapping[str, str], cwd: Path, server_pid: int | None = None
) -> Ran:
    """Run a command to its end, watched; the caller judges its exit code."""
    server_before = processor_s(server_pid) if server_pid else 0.0
    began, clock = time.time(), time.perf_counter()
    with (cwd / "stderr.txt").open("w+b") as said:
        process = subprocess.Popen(
            command, env=environment, cwd=cwd, stdout=subprocess.DEVNULL, stderr=said
        )
        watch = Watch(process.pid, server_pid)
        try:
            _, status, used = os.wait4(process.pid, 0)
        except BaseException:  # whoever stops a sitting leaves no command behind
            process.terminate()
            process.wait()
            raise
        wall = time.perf_counter() - clock
        process.returncode = os.waitstatus_to_exitcode(status)
        watch.close()
        said.seek(0)
        output = said.read().decode(errors="replace")
    server = (processor_s(server_pid) if server_pid else 0.0) - server_before
    cpu = used.ru_utime + used.ru_stime
    return Ran(began, wall, cpu, server, watch, output, process.returncode)
