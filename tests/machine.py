"""Limits in seconds on a machine whose speed is not known."""

from __future__ import annotations

import time
from collections.abc import Callable

_SPIN_S = 0.1
_TRIES = 3


def slowness() -> float:
    """Seconds on the clock for a second of the processor's work; 1.0 where nothing else runs."""
    began, working = time.monotonic(), time.thread_time()
    while time.thread_time() - working < _SPIN_S:
        pass
    return max(1.0, (time.monotonic() - began) / _SPIN_S)


def is_computed_within(limit_s: float, work: Callable[[], object]) -> bool:
    """Whether the work takes this thread less processor time, at least once of several times.

    A host that is short of memory can add seconds to a single time, and removes none.
    """
    return any(_processor_s(work) < limit_s for _ in range(_TRIES))


def _processor_s(work: Callable[[], object]) -> float:
    began = time.thread_time()
    work()
    return time.thread_time() - began
