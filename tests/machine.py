"""How slow this machine is just now: what a limit in seconds has to be multiplied with."""

from __future__ import annotations

import time

_SPIN_S = 0.1


def slowness() -> float:
    """Seconds on the clock for a second of the processor's work; 1.0 where nothing else runs."""
    began, working = time.monotonic(), time.thread_time()
    while time.thread_time() - working < _SPIN_S:
        pass
    return max(1.0, (time.monotonic() - began) / _SPIN_S)
