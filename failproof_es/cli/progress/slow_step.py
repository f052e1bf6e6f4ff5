"""Reports a step of a command on stderr if it takes longer than two seconds."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from failproof_es.cli.rendering.output import say

SLOW_AFTER_S = 2.0


@contextmanager
def slow_step(what: str, *, quiet: bool = False) -> Iterator[None]:
    """Print `what ...` on stderr if this context lasts longer than `SLOW_AFTER_S`.

    `what` is the step, for example "writing the results"; `quiet` says nothing.
    """
    if quiet:
        yield
        return
    timer = threading.Timer(SLOW_AFTER_S, say, [f"{what} ..."])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
