"""What the probes in a copy of the tree call. `copies` writes this file into that copy.

Imports nothing but the standard library, and may be called in any process that runs the copy.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

RECORD = Path()
"""The folder of the record: this line is replaced in the copy."""
_LOOK_EVERY_S = 0.2
"""How long a process other than that of pytest relies on the last test file it read."""


class _Seen:
    """What this process has recorded; begins anew in a forked one."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.hits: set[tuple[int, str]] = set()
        self.current: Path | None = None
        self.looked_at = -1.0
        self.test_file = ""
        self.is_child = False


_seen = _Seen()


def hit(*mutants: int) -> bool:
    """Record, once for each process and test file, that the mutants' place is executed."""
    global _seen
    if _seen.pid != os.getpid():
        _seen = _Seen()
    seen = _seen
    plugin = sys.modules.get("failproof_mutants_recording")
    test_file = seen.test_file if plugin is None else plugin.current
    if plugin is None and time.monotonic() - seen.looked_at > _LOOK_EVERY_S:
        test_file = seen.test_file = _read_test_file(seen)
    for mutant in mutants:
        if (mutant, test_file) not in seen.hits:
            seen.hits.add((mutant, test_file))
            _append(f"{mutant}\t{test_file}\t{time.time()}\n")
    return False


def _append(line: str) -> None:
    hits = os.open(RECORD / "hits", os.O_WRONLY | os.O_APPEND)
    try:
        os.write(hits, line.encode())
    finally:
        os.close(hits)


def _read_test_file(seen: _Seen) -> str:
    """What the nearest process of pytest among the ancestors runs now.

    Without one (its parent has ended) what the environment says, else `?`.
    """
    if seen.looked_at < 0:
        seen.current = _current_of_an_ancestor(seen.pid)
    seen.looked_at = time.monotonic()
    if seen.current is not None:
        return seen.current.read_text().strip()
    return os.environ.get("PYTEST_CURRENT_TEST", "?").partition("::")[0]


def _current_of_an_ancestor(pid: int) -> Path | None:
    while pid > 1:
        if (current := RECORD / "current" / str(pid)).exists():
            return current
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return None
        pid = int(stat.rpartition(")")[2].split()[1])
    return None
