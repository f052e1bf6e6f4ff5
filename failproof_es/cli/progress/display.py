"""Shows a run's progress on stderr: a live table on a terminal, lines elsewhere.

The lines are plain text for people, or JSON objects where the output is for programs.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Self

from failproof_es.cli.progress.json_lines import json_line
from failproof_es.cli.progress.state import ProgressState
from failproof_es.cli.progress.text import (
    LONGEST_NAME,
    error_lines,
    figures,
    heading,
    judges_line,
    phrases,
)
from failproof_es.support.untrusted_text import one_line, shortened

LINE_EVERY_S = 10.0
SAMPLE_EVERY_S = 1.0
"""Seconds between samples of the rate, which is measured between two samples."""

AFTER_EVALUATIONS = ("validating", "sealing")
"""Phases that get a line of their own if they take longer than a sample or two, because no number
changes in them.
"""

LINE_ERRORS = 2
"""Most error messages in a line."""


def progress_for(
    state: ProgressState, *, quiet: bool, as_json: bool, verbose: bool = False
) -> AbstractContextManager[object]:
    """The display of `state` that fits stderr: a terminal, a file or a program.

    It is shown within the context. `quiet` shows nothing, `verbose` every figure; `as_json` writes
    JSON lines.
    """
    if quiet:
        return nullcontext()
    if as_json:
        return LineProgress(state, json_line)
    lines = LineProgress(state, partial(plain_line, verbose=verbose))
    if not sys.stderr.isatty():
        return lines
    from rich.console import Console  # needed on terminals only

    from failproof_es.cli.progress.live_table import LiveProgress

    console = Console(stderr=True, highlight=False)
    return lines if console.is_dumb_terminal else LiveProgress(state, console, verbose=verbose)


class LineProgress:
    """A progress display of one line every ten seconds, and one at the end.

    For log files, pipes and programs. `line` makes the text of a line, `every_s` is the interval in
    seconds.
    """

    def __init__(
        self,
        state: ProgressState,
        line: Callable[[ProgressState], str],
        every_s: float = LINE_EVERY_S,
    ) -> None:
        self._state = state
        self._line = line
        self._every_s = every_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._tick, name="progress", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        if self._state.models:  # else there was no run, or it was not ours
            self._write()

    def _tick(self) -> None:
        due = time.monotonic() + self._every_s
        before = reported_phase = self._state.phase
        while not self._ended.wait(min(SAMPLE_EVERY_S, self._every_s)):
            phase = self._state.phase
            slow = phase in AFTER_EVALUATIONS and phase == before != reported_phase
            if slow:
                reported_phase = phase
                self._write()
            elif time.monotonic() >= due:
                due += self._every_s
                self._write()
            else:
                self._line(self._state)
            before = phase

    def _write(self) -> None:
        print(self._line(self._state), file=sys.stderr, flush=True)  # noqa: T201


def plain_line(state: ProgressState, *, verbose: bool = False) -> str:
    """The progress of all models in one line, safe to print, without a line feed.

    With several models each has its name and how many are done; `verbose` adds every figure.
    """
    parts = []
    of_models = figures(state, verbose=verbose)
    is_single = len(of_models) == 1
    for key, cells in of_models.items():
        model = state.models[key]
        if is_single:  # the heading has the time left
            cells.pop("left")
        over = f" ({n:,} carried over)" if (n := model.asking.carried_over) else ""
        named = f"{shortened(one_line(key), LONGEST_NAME)}: {model.finished:,} of {model.planned:,}"
        parts.append(f"{'' if is_single else f'{named}, '}{phrases(cells)}{over}")
    if judges := judges_line(state):
        parts.append(judges)
    parts += error_lines(state, LINE_ERRORS)
    return "; ".join([heading(state), *parts])
