"""The clocks of a drive: code that drives a run reads the time here only.

Call them as `clock.utc_now()`, so that a simulation can replace them.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime


def utc_now() -> datetime:
    """The current time in UTC, as events record it. The system may set it back."""
    return datetime.now(UTC)


def monotonic_s() -> float:
    """Seconds since an arbitrary moment of this process; never decreasing."""
    return time.monotonic()
