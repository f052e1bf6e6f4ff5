"""The clocks of a drive. Whoever drives a run reads the time here and nowhere else.

Use them as `clock.utc_now()`: then a simulation can put its own clock in their place.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime


def utc_now() -> datetime:
    """The time of day, in UTC, as events record it. It may be set back."""
    return datetime.now(UTC)


def monotonic_s() -> float:
    """Seconds from an arbitrary moment of this process; they never go back."""
    return time.monotonic()
