"""A time by which something has to end: else it hangs, and that is the finding."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator


@contextlib.contextmanager
def within_seconds(seconds: int) -> Iterator[None]:
    """Raise `TimeoutError` in the main thread when the block takes longer."""

    def too_late(_: int, __: object) -> None:
        raise TimeoutError(f"not over after {seconds} s")

    before = signal.signal(signal.SIGALRM, too_late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
