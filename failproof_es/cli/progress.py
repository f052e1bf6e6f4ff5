"""Show a run's progress on stderr: a live table on a terminal, lines elsewhere.

The lines are plain text for people, or JSON objects where the output is for programs.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self

from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from failproof_es.cli.progress_json import json_line
from failproof_es.cli.progress_state import ModelProgress, ProgressState, RateLimit
from failproof_es.cli.sanitise import one_line, shortened

REPAINTS_PER_SECOND = 4
LINE_EVERY_S = 10.0
SAMPLE_EVERY_S = 1.0
"""A rate is measured between samples, and before the run has begun there is no model to take
one of."""

_NARROWEST_NAME = 12
_ANY_WIDTH = 10_000

_COLUMNS = (
    "done",
    "pass",
    "refused",
    "errors",
    "retries",
    "in flight",
    "rate/s",
    "cost",
    "left",
    "limit",
)


class Progress(Protocol):
    """Something that shows progress between `__enter__` and `__exit__`."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


def progress_for(state: ProgressState, *, quiet: bool, as_json: bool) -> Progress:
    """The way to show `state` that fits where stderr goes and who reads it."""
    if quiet:
        return Silence()
    if as_json:
        return Lines(state, json_line)
    console = Console(stderr=True, highlight=False)
    live = sys.stderr.isatty() and not console.is_dumb_terminal
    return LiveTable(state, console) if live else Lines(state, plain_line)


class Silence:
    """Show nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None


class LiveTable:
    """A table that repaints itself from a thread of its own, a few times a second."""

    def __init__(self, state: ProgressState, console: Console) -> None:
        self._live = Live(
            get_renderable=lambda: fitting(state, console) if state.models else Text(""),
            console=console,
            refresh_per_second=REPAINTS_PER_SECOND,
            redirect_stdout=False,
        )

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.__exit__(kind, error, trace)


class Lines:
    """One line every ten seconds, and one at the end: for log files, pipes and programs."""

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
        self._write()

    def _tick(self) -> None:
        due = time.monotonic() + self._every_s
        while not self._ended.wait(min(SAMPLE_EVERY_S, self._every_s)):
            if time.monotonic() >= due:
                due += self._every_s
                self._write()
            else:
                self._line(self._state)

    def _write(self) -> None:
        if self._state.models:
            print(self._line(self._state), file=sys.stderr, flush=True)  # noqa: T201


def fitting(state: ProgressState, console: Console) -> Table | Text:
    """The table, closer together on a narrow terminal; the plain line where it is too narrow."""
    names = max((len(key) for key in state.models), default=0)
    spare = max(names - _NARROWEST_NAME, 0)
    for padding in (1, 0):
        table = progress_table(state, padding)
        wanted = console.measure(table, options=console.options.update(width=_ANY_WIDTH)).maximum
        if wanted - spare <= console.width:
            return table
    return Text(plain_line(state))


def progress_table(state: ProgressState, padding: int = 1) -> Table:
    """A row per model, and a title that says which run."""
    title = f"run {state.run_number} {one_line(state.name)}" if state.run_number else "starting"
    table = Table(title=title, title_justify="left", box=box.SIMPLE, padding=(0, padding))
    table.add_column("model", overflow="ellipsis", no_wrap=True)
    for column in _COLUMNS:
        table.add_column(column, justify="right", no_wrap=True)
    for key, model in list(state.models.items()):
        table.add_row(Text(one_line(key)), *_cells(state, model))
    if judges := _judges(state):
        table.caption, table.caption_justify = Text(judges), "left"
    return table


def plain_line(state: ProgressState) -> str:
    """The same facts in one line without any control sequence."""
    parts = []
    for key, model in list(state.models.items()):
        cells = dict(zip(_COLUMNS, _cells(state, model), strict=True))
        done = f"{cells.pop('done')} done"
        if model.carried_over:  # of another run's: how they went is not counted here
            done += f" ({model.carried_over} carried over)"
        facts = ", ".join(f"{name} {value}" for name, value in cells.items())
        parts.append(f"{shortened(one_line(key), 60)}: {done}, {facts}")
    if judges := _judges(state):
        parts.append(judges)
    run = f"run {state.run_number}: " if state.run_number else ""
    return run + ("; ".join(parts) or "starting")


def _cells(state: ProgressState, model: ModelProgress) -> list[str]:
    pace = state.pace(model.key)
    return [
        f"{model.finished}/{model.planned}",
        str(model.passed),
        str(model.refused),
        _errors(model),
        str(model.retries),
        str(len(model.in_flight)),
        "-" if pace.per_second is None else f"{pace.per_second:.1f}",
        "-" if model.cost_usd is None else f"${model.cost_usd:.4f}",
        "-" if pace.seconds_left is None else duration(pace.seconds_left),
        limit_text(state.rate_limit(model.key)),
    ]


def _errors(model: ModelProgress) -> str:
    if not model.abandoned or model.error_rate is None:
        return "0"
    return f"{model.abandoned} ({model.error_rate:.1%})"


def _judges(state: ProgressState) -> str:
    """What is to be said of the servers that only judges stand on; empty where nothing is."""
    limits = state.judge_limits().items()
    return "; ".join(f"{shortened(one_line(k), 60)}: limit {limit_text(v)}" for k, v in limits)


def limit_text(limit: RateLimit) -> str:
    """`24/100` of the requests that may go at once, and how long the server wants none."""
    if limit.allowed is None:
        return "-"
    of = "" if limit.ceiling is None else f"/{limit.ceiling}"
    held = f", held {_brief(limit.held_s)}" if limit.held_until is not None else ""
    return f"{limit.allowed}{of}{held}"


def _brief(seconds: float) -> str:
    whole = math.ceil(seconds)
    return f"{whole} s" if whole < 60 else duration(whole)


def duration(seconds: float) -> str:
    """Seconds as people read them: `0:07`, `12:30`, `3:05:00`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
