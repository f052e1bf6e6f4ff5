"""What the processes of a run hold and use while it goes, and how far the projections are behind.

Sampled from outside, once in a while: the memory that each process of a kind holds by itself, its
processor time, the newest position of the log, and how many of them no projection has read.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psutil
import psycopg

from failproof_es.store.reading.reader import max_position
from projections.runner import status

_KINDS = (("worker", "worker"), ("projections.follower", "projections"), ("start", "command"))
_DATABASE = "database"


@dataclass(slots=True)
class Kind:
    """The processes of one kind."""

    peak_mb: float = 0.0
    """The most that one of them held, as the kernel counts it for the process (VmHWM)."""
    cpu_s: float = 0.0
    """Of all of them, until the last sample."""
    held_mb: list[float] = field(default_factory=list)
    """At each sample: what the one that held most held."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One look."""

    at_s: float
    """Since the beginning."""
    newest: int
    """Position of the log."""
    behind: int
    """Of the projection that is furthest behind."""


class Sampler:
    """Watches a process and all below it, and the database's processes. `close` it."""

    def __init__(self, pid: int, server_pid: int, url: str, every_s: float) -> None:
        self.kinds: dict[str, Kind] = {}
        self.samples: list[Sample] = []
        self._pids = pid, server_pid
        self._url = url
        self._every_s = every_s
        self._began = time.monotonic()
        self._used: dict[tuple[str, int], float] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Look for the last time."""
        self._stop.set()
        self._thread.join()

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "kinds": {name: asdict(kind) for name, kind in self.kinds.items()},
            "samples": [[each.at_s, each.newest, each.behind] for each in self.samples],
        }

    @property
    def most_behind(self) -> int:
        """Positions."""
        return max((each.behind for each in self.samples), default=0)

    def _watch(self) -> None:
        while not self._stop.wait(self._every_s):
            self._look()

    def _look(self) -> None:
        held: dict[str, float] = {}
        for kind, process in self._processes():
            with contextlib.suppress(psutil.Error, OSError, KeyError):  # it has just ended
                now_mb, peak_mb = _memory(process.pid, shared=kind == _DATABASE)
                times = process.cpu_times()
                self._used[kind, process.pid] = times.user + times.system
                known = self.kinds.setdefault(kind, Kind())
                known.peak_mb = max(known.peak_mb, peak_mb)
                held[kind] = max(held.get(kind, 0.0), now_mb)
        for kind, most in held.items():
            self.kinds[kind].held_mb.append(round(most, 1))
        for name, known in self.kinds.items():
            known.cpu_s = round(sum(s for (kind, _), s in self._used.items() if kind == name), 2)
        with (
            contextlib.suppress(psycopg.Error),
            psycopg.connect(self._url, autocommit=True) as connection,
        ):
            behind = max((each.behind for each in status(connection)), default=0)
            passed = round(time.monotonic() - self._began, 1)
            self.samples.append(Sample(passed, max_position(connection), behind))

    def _processes(self) -> list[tuple[str, psutil.Process]]:
        pid, server_pid = self._pids
        found: list[tuple[str, psutil.Process]] = []
        with contextlib.suppress(psutil.Error):
            top = psutil.Process(pid)
            for process in (top, *top.children(recursive=True)):
                with contextlib.suppress(psutil.Error):
                    found.append((kind_of(process.cmdline()), process))
        with contextlib.suppress(psutil.Error):
            server = psutil.Process(server_pid)
            found += [(_DATABASE, each) for each in (server, *server.children())]
        return found


def kind_of(command: Sequence[str]) -> str:
    """What a process is, by how it was called."""
    for word, kind in _KINDS:
        if word in command:
            return kind
    return "command" if "failproof_es.cli" in command else "other"


def _memory(pid: int, *, shared: bool) -> tuple[float, float]:
    """What a process holds now, and the most that it held, in MB.

    With `shared` memory that others hold, too, counts for its part: the database's processes have
    one buffer together. Its peak is then what it holds now.
    """
    if shared:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss:"):
                held = int(line.split()[1]) / 1024
                return held, held
        return 0.0, 0.0
    told = dict(
        line.split(":", 1)
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    )
    return int(told["VmRSS"].split()[0]) / 1024, int(told["VmHWM"].split()[0]) / 1024
