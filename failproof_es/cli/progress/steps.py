"""Shows on stderr the step of a command that takes longer than two seconds."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext
from typing import Self

from failproof_es.cli.rendering.output import say

SLOW_AFTER_S = 2.0
EVERY_S = 5.0
"""Seconds between two lines, after the first one; three times as long if nothing has changed."""


class StepProgress:
    """Says the current step and its count every few seconds, from a thread, until it is closed.

    A context manager. A command shorter than `SLOW_AFTER_S` says nothing.
    """

    def __init__(self, step: str = "") -> None:
        self._step, self._done, self._of = step, 0, 0
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._say_steps, daemon=True)

    def __call__(self, step: str, done: int = 0, of: int = 0) -> None:
        """Set the current step: `done` of `of` items; `of` is 0 where items are not counted."""
        self._step, self._done, self._of = step, done, of

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        self._thread.join()

    def _say_steps(self) -> None:
        wait_s, said, unchanged = SLOW_AFTER_S, "", 0
        while not self._closed.wait(wait_s):
            count = f": {self._done:,} of {self._of:,}" if self._of else ""
            line = f"{self._step}{count} ..."
            unchanged = unchanged + 1 if line == said else 0
            if unchanged % 3 == 0:
                say(line)
            wait_s, said = EVERY_S, line


def slow_step(step: str, *, quiet: bool = False) -> AbstractContextManager[object]:
    """A context that says `step`, for example "writing the results", if it takes long.

    `quiet` says nothing.
    """
    return nullcontext() if quiet else StepProgress(step)
