"""A run's progress on a terminal: one bar for each model, repainted a few times a second."""

from __future__ import annotations

import threading
from typing import Self

from rich.cells import cell_len
from rich.console import Console, ConsoleDimensions, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from failproof_es.cli.progress.model_progress import ModelProgressState
from failproof_es.cli.progress.state import ProgressState
from failproof_es.cli.progress.text import (
    error_lines,
    figures,
    heading,
    judges_line,
    percent_done,
    phrases,
)
from failproof_es.support.untrusted_text import one_line

REPAINTS_PER_SECOND = 4
TOTAL = "total"

_ERRORS_SHOWN = 5
_NARROWEST_BAR = 8
_WIDEST_BAR = 40
_LONGEST_NAME = 24
_INDENT = 2


class LiveProgress:
    """A progress display: a table that its own thread repaints, and that stays at the end.

    When the window's size changes, the screen is cleared first: terminals differ in how they
    re-wrap the old lines.
    """

    def __init__(self, state: ProgressState, console: Console, *, verbose: bool = False) -> None:
        self._state = state
        self._verbose = verbose
        self._console = console
        self._live = self._new_live()
        self._size = console.size
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._repaint, name="progress", daemon=True)

    def __enter__(self) -> Self:
        self._live.start(refresh=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:  # entered twice if a second signal ends the process
            if self._ended.is_set():
                return
            self._ended.set()
            self._live.stop()
            if self._state.models:  # else there was no run, or it was not ours
                self._console.print(self._view())

    def _view(self) -> RenderableType:
        return progress_view(self._state, self._console.width, verbose=self._verbose)

    def _new_live(self) -> Live:
        return Live(
            get_renderable=self._view,
            console=self._console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            vertical_overflow="crop",
        )

    def _repaint(self) -> None:
        while not self._ended.wait(1 / REPAINTS_PER_SECOND):
            with self._lock:
                if self._ended.is_set():
                    return
                if self._console.size != self._size:
                    self._restart(self._console.size)
                self._live.refresh()

    def _restart(self, size: ConsoleDimensions) -> None:
        self._size = size
        self._live.stop()
        self._console.clear()
        self._live = self._new_live()
        self._live.start()


def progress_view(state: ProgressState, width: int, *, verbose: bool = False) -> RenderableType:
    """The progress for a window of this width, in characters, at least 20.

    `verbose` shows every figure.
    """
    parts: list[RenderableType] = [Text(heading(state), style="bold")]
    if state.models:
        parts.append(_models(state, width, verbose=verbose))
    if judges := judges_line(state):
        parts.append(Text(judges))
    if errors := error_lines(state, _ERRORS_SHOWN):
        parts.append(Text("failed requests"))
        parts += [
            Padding(Text(line, no_wrap=True, overflow="ellipsis"), (0, 0, 0, _INDENT))
            for line in errors
        ]
    return Group(*parts)


def _models(state: ProgressState, width: int, *, verbose: bool) -> RenderableType:
    """The models' bars: each model on one line if its figures fit beside its bar.

    Else the figures are below the bar. `width` is the window's, in characters.
    """
    of_models = figures(state, verbose=verbose)
    rows = list(state.models.values())
    if len(rows) > 1:
        rows.append(ModelProgressState.of_all(TOTAL, rows))
    done = max(len(_finished_text(row)) for row in rows)
    longest = max(cell_len(one_line(row.key)) for row in rows)
    names = min(max(longest, len("model")), _LONGEST_NAME)
    columns = {
        name: max(len(name), *(len(cells[name]) for cells in of_models.values()))
        for name in next(iter(of_models.values()))
    }
    text_width = names + done + sum(columns.values()) + 2 * (len(columns) + 2)
    if text_width + _NARROWEST_BAR <= width:
        return _wide_table(rows, of_models, columns, min(width - text_width, _WIDEST_BAR))
    names = min(names, max(width - done - 4, 1))
    bar = max(min(width - names - done - 4, _WIDEST_BAR), 1)
    return Group(*_narrow_tables(rows, of_models, names, bar))


def _wide_table(
    rows: list[ModelProgressState],
    of_models: dict[str, dict[str, str]],
    columns: dict[str, int],
    bar: int,
) -> Table:
    table = Table(box=None, padding=(0, 1), pad_edge=False, header_style="dim")
    table.add_column("model", max_width=_LONGEST_NAME, no_wrap=True, overflow="ellipsis")
    table.add_column("", width=bar)
    table.add_column("done", justify="right", no_wrap=True)
    for name, width in columns.items():
        table.add_column(name, justify="right", no_wrap=True, width=width)
    for row in rows:
        cells = of_models.get(row.key, {})
        table.add_row(
            Text(one_line(row.key)),
            _bar(row, bar),
            _finished_text(row),
            *(cells.get(name, "") for name in columns),
        )
    return table


def _narrow_tables(
    rows: list[ModelProgressState], of_models: dict[str, dict[str, str]], names: int, bar: int
) -> list[RenderableType]:
    lines: list[RenderableType] = []
    for row in rows:
        line = Table.grid(padding=(0, 1))
        line.add_column(width=names, no_wrap=True, overflow="ellipsis")
        line.add_column(width=bar)
        line.add_column(no_wrap=True)
        line.add_row(Text(one_line(row.key)), _bar(row, bar), _finished_text(row))
        lines.append(line)
        if cells := of_models.get(row.key):
            lines.append(Padding(Text(phrases(cells)), (0, 0, 0, _INDENT)))
    return lines


def _bar(row: ModelProgressState, width: int) -> ProgressBar:
    done = min(row.finished, row.planned)
    return ProgressBar(total=max(row.planned, 1), completed=done, width=width)


def _finished_text(row: ModelProgressState) -> str:
    return f"{row.finished:,}/{row.planned:,} {percent_done(row.finished, row.planned)}"
