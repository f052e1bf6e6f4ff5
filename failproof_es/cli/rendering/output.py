"""Writes data to stdout, as a table for people or as JSON for programs.

Only data goes to stdout. Messages for people (remarks, hints, progress) go to stderr, so that a
pipe never has to filter.
"""

from __future__ import annotations

import codecs
import errno
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, TextIO, TypeVar

import click
import orjson
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from failproof_es.cli.rendering.format_choice import FormatChoice
from failproof_es.cli.rendering.table_layout import fitting_layout, natural_width
from failproof_es.cli.rendering.wrapping import terminal_width, with_end_cut, wrapped
from failproof_es.cli.usage import WrongUsage
from failproof_es.problems import InvalidInput
from failproof_es.support.atomic_file import WrittenFile, atomic_write, describe_write_error
from failproof_es.support.untrusted_text import json_text, lines, one_line, shortened

F = TypeVar("F", bound=Callable[..., Any])

_SHORT = "failproof_es.cli.rendering.output.json"

TABLE_ROWS = 1_000

LONGEST_CELL = 500
"""The longest text in a table, in characters; JSON has the whole text."""

_DEEPEST_INDENT = 8
"""The most characters before the text below a row."""
_MOST_LINES_BELOW = 12
_NOTHING = ("", "-", "0")
"""Values that are not printed below a row."""

PIPE_WIDTH = 200
"""The width of a table without a terminal, in characters."""


class Format(StrEnum):
    """The format of a command's data."""

    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"


_USUAL = (Format.TABLE, Format.JSON, Format.JSONL)


def format_option(*allowed: Format) -> Callable[[F], F]:
    """A decorator that gives a command `--format` and `--json`.

    The command receives `output_format: Format`. The first of `allowed` is the default; without
    arguments these are all but CSV.
    """
    choices = [str(choice) for choice in (allowed or _USUAL)]
    short_for = Format.JSON if Format.JSON in choices else Format.JSONL

    def set_json(context: click.Context, _: click.Parameter, value: bool) -> None:
        if value:
            context.meta[_SHORT] = short_for

    def set_format(context: click.Context, _: click.Parameter, value: str | None) -> Format:
        short = context.meta.get(_SHORT)
        if short and value and value != short:
            raise WrongUsage("options-conflict", f"--json excludes --format {value}", context)
        return Format(value or short or choices[0])

    def decorate(command: F) -> F:
        command = click.option(
            "--json",
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=set_json,
            help=f"Short for --format {short_for}.",
        )(command)
        return click.option(
            "--format",
            "output_format",
            type=FormatChoice(choices),
            callback=set_format,
            help=f"How to print the data.  [default: {choices[0]}]",
        )(command)

    return decorate


@dataclass(frozen=True, slots=True)
class Column:
    """A table's column: its heading, and the key of its value in a row.

    `right`: the values are numbers, right-aligned and never wrapped. `folds`: in a table that is
    too wide, each value but `-` and 0 is printed below its row, with the heading. `is_text`: it
    folds, too, and has lines of its own there. `is_spare`: such a table leaves it out.
    """

    heading: str
    key: str
    right: bool = False
    folds: bool = False
    is_text: bool = False
    is_spare: bool = False

    @property
    def may_fold(self) -> bool:
        """Whether its values are printed below their rows in a table that is too wide."""
        return self.folds or self.is_text


def columns_of_keys(*keys: str, right: bool = False, folds: bool = False) -> tuple[Column, ...]:
    """Columns with these keys, each with its key as the heading: `awaiting_review` in two words."""
    return tuple(Column(key.replace("_", " "), key, right, folds) for key in keys)


class BelowRows(NamedTuple):
    """The amount of text below a row."""

    most_phrases: int | None = None
    """Lines of phrases at most, filled one after the other; `None`: a line each, if they do not all
    fit on one."""
    whole_texts: bool = False
    """Whether texts are whole; else they are cut to 500 characters and 12 lines."""


BELOW_ROWS = BelowRows()


def print_rows(
    rows: Iterable[dict[str, Any]],
    columns: Sequence[Column],
    output_format: Format,
    *,
    when_empty: str | None = None,
) -> None:
    """Print rows on stdout in this format: all keys as JSON, or the columns as a table.

    Without rows a table is only `when_empty`, on stderr.
    """
    if output_format is Format.TABLE:
        print_table(rows, columns, when_empty=when_empty)
    elif output_format is Format.JSONL:
        for row in rows:
            print_json(row)
    else:
        print_json_list(rows)


def print_table(
    rows: Iterable[dict[str, Any]],
    columns: Sequence[Column],
    *,
    title: str | None = None,
    when_empty: str | None = None,
    details: Callable[[dict[str, Any]], Sequence[tuple[str, str]]] | None = None,
    below: BelowRows = BELOW_ROWS,
) -> None:
    """Print a table on stdout, every cell sanitised, `-` for `None`.

    It fits every terminal: columns that fold go below the rows, texts are wrapped, and if even that
    is too wide, the values of a row are printed below each other. A long table is printed as
    several, each with its heading, so that memory stays flat. `details` are the (label, text) to
    print below a row; `below` bounds what is printed there. Without rows, only `when_empty` is
    printed, on stderr: the reason, and what to do next.
    """
    console = stdout_console()
    heading = title and one_line(title)
    remaining = iter(rows)
    page = list(islice(remaining, TABLE_ROWS))
    if not page and when_empty is not None:
        say(when_empty)
        return
    while True:
        cells = [
            [shortened(cell(row.get(column.key)), LONGEST_CELL) for column in columns]
            for row in page
        ]
        grid = _Grid(columns, cells)
        if not grid.fits(console):
            grid = grid.only(lambda column: not column.is_spare)
        texts = [
            [(label, text if below.whole_texts else _shorten(text)) for label, text in details(row)]
            if details
            else []
            for row in page
        ]
        if heading:
            console.print(Text(heading))
        _print_page(console, grid, texts, below.most_phrases)
        page = list(islice(remaining, TABLE_ROWS))
        if not page:
            return


class _Grid(NamedTuple):
    """The columns of a table, and the cells of its rows."""

    columns: Sequence[Column]
    cells: Sequence[Sequence[str]]

    def fits(self, console: Console) -> bool:
        """Whether every text fits on one line of the table."""
        return natural_width(self.columns, self.cells) <= console.width

    def layout(self, console: Console) -> tuple[int, list[int]] | None:
        """The padding of the columns, and the width of each; `None` if they do not fit."""
        return fitting_layout(self.columns, self.cells, console.width)

    def only(self, is_kept: Callable[[Column], bool]) -> _Grid:
        """The columns that are kept."""
        kept = [at for at, column in enumerate(self.columns) if is_kept(column)]
        columns = [self.columns[at] for at in kept]
        return _Grid(columns, [[row[at] for at in kept] for row in self.cells])


class _Below(NamedTuple):
    """Phrases, then texts with their labels, to print below a row."""

    phrases: Sequence[str]
    texts: Sequence[tuple[str, str]]


def _print_page(
    console: Console,
    grid: _Grid,
    texts: Sequence[Sequence[tuple[str, str]]],
    most_phrases: int | None,
) -> None:
    """Print rows in the widest form that fits, `texts` below each."""
    folds = not grid.fits(console)
    kept = grid.only(lambda column: not (folds and column.may_fold))
    folded = grid.only(lambda column: folds and column.may_fold)
    if (folded.columns or any(texts)) and (layout := kept.layout(console)) is not None:
        below = [
            _part_below(list(zip(folded.columns, row, strict=True)), own)
            for row, own in zip(folded.cells, texts, strict=True)
        ]
        _print_folded(console, kept, below, layout, most_phrases)
    elif (layout := grid.layout(console)) is not None:
        console.print(_table(grid, layout))
    else:
        _print_records(console, grid, texts)


def _print_folded(
    console: Console,
    grid: _Grid,
    below: Sequence[_Below],
    layout: tuple[int, list[int]],
    most_phrases: int | None,
) -> None:
    """Print each row with the part `below` it, as `BelowRows` says."""
    padding, widths = layout
    indent = min(widths[0] + 3 * padding + 2, _DEEPEST_INDENT)
    heading = _table(_Grid(grid.columns, []), layout, edge=False)
    console.print(Padding(heading, (0, 0, 0, 1)))
    for row, (phrases, texts) in zip(grid.cells, below, strict=True):
        line = _table(_Grid(grid.columns, [row]), layout, edge=False)
        line.show_header = False
        console.print(Padding(line, (0, 0, 0, 1)))
        for phrase in _phrase_lines(phrases, console.width - indent, most_phrases):
            console.print(Padding(Text(phrase, style="dim"), (0, 0, 0, indent)))
        if texts:
            console.print(Padding(_labelled_texts(texts), (0, 0, 1, 3), expand=False))
    console.print()


def _phrase_lines(phrases: Sequence[str], width: int, most: int | None) -> Sequence[str]:
    """The phrases on one line if they fit, else on one each, or on `most` lines that are filled."""
    joined = ", ".join(phrases)
    if most is None or not phrases or cell_len(joined) <= width:
        return [joined] if phrases and cell_len(joined) <= width else phrases
    filled = wrapped(joined, width).split("\n")
    if len(filled) <= most:
        return filled
    return [*filled[: most - 1], with_end_cut(filled[most - 1], width)]


def _part_below(folded: Sequence[tuple[Column, str]], texts: Sequence[tuple[str, str]]) -> _Below:
    """The part to print below a row with these folded cells and these texts."""
    filled = [(column, value) for column, value in folded if value not in _NOTHING]
    own_texts = [(column.heading, value) for column, value in filled if column.is_text]
    phrases = [f"{column.heading} {value}" for column, value in filled if not column.is_text]
    return _Below(phrases, [*own_texts, *texts])


def _labelled_texts(texts: Sequence[tuple[str, str]]) -> Table:
    """Texts with their labels, one below the other; line breaks are kept."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for label, text in texts:
        table.add_row(Text(one_line(label)), Text(lines(text)))
    return table


def _shorten(text: str) -> str:
    """The text in at most `LONGEST_CELL` characters and `_MOST_LINES_BELOW` lines."""
    shown = shortened(text, LONGEST_CELL).split("\n")
    more = ["…"] if len(shown) > _MOST_LINES_BELOW else []
    return "\n".join(shown[:_MOST_LINES_BELOW] + more)


def _table(grid: _Grid, layout: tuple[int, list[int]], *, edge: bool = True) -> Table:
    padding, widths = layout
    table = Table(box=box.SIMPLE_HEAD, padding=(0, padding), show_edge=edge)
    for column, width in zip(grid.columns, widths, strict=True):
        justify: Literal["left", "right"] = "right" if column.right else "left"
        table.add_column(column.heading, justify=justify, overflow="fold", width=width)
    for row in grid.cells:
        table.add_row(*map(Text, row))
    return table


def _print_records(
    console: Console, grid: _Grid, texts: Sequence[Sequence[tuple[str, str]]]
) -> None:
    for row, own in zip(grid.cells, texts, strict=True):
        headed_cells = zip((column.heading for column in grid.columns), row, strict=True)
        console.print(_labelled_texts([*(pair for pair in headed_cells if pair[1]), *own]))
        console.print()


def print_facts(
    facts: dict[str, Any],
    output_format: Format = Format.TABLE,
    *,
    for_people: Callable[[dict[str, Any]], dict[str, Any]] = dict,
) -> None:
    """Print values by name on stdout: one below the other, `-` for `None`, or as one JSON object.

    `for_people` makes the values that are not printed as JSON.
    """
    if output_format is Format.TABLE:
        texts = [(name, cell(value)) for name, value in for_people(facts).items()]
        stdout_console().print(_labelled_texts(texts))
    else:
        print_json(facts, indent=output_format is Format.JSON)


def stdout_console() -> Console:
    """A new console for tables: as wide as the terminal, or `PIPE_WIDTH` without one."""
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    return _Console(file=sys.stdout, width=width, highlight=False, markup=False)


class _Console(Console):
    """A console that raises `BrokenPipeError`; the library would end the process."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def data_stream() -> TextIO:
    """Standard output for data, set to UTF-8, whatever encoding the terminal or the locale has."""
    encoding = getattr(sys.stdout, "encoding", None)
    if encoding is not None and codecs.lookup(encoding).name != "utf-8":
        sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    return sys.stdout


_JSON = orjson.OPT_UTC_Z
"""Times end with `Z`, as in the log."""


def print_json(value: Any, *, indent: bool = False) -> None:
    """Print a value as JSON on stdout, on one line or indented. Unsafe characters are escaped."""
    text = orjson.dumps(value, option=_JSON | (orjson.OPT_INDENT_2 if indent else 0)).decode()
    data_stream().write(json_text(text) + "\n")


def say(text: str) -> None:
    """Print a message for people on stderr. Unsafe characters are escaped."""
    sys.stderr.write(wrapped(lines(text), terminal_width(sys.stderr)) + "\n")
    sys.stderr.flush()


def print_line(text: str) -> None:
    """Print a line of data on stdout, sanitised; at a terminal it is wrapped between words."""
    click.echo(wrapped(one_line(text), terminal_width(sys.stdout)))


def cell(value: Any) -> str:
    """A value as the text of a table cell: `-` for `None`, `yes` or `no`, times in UTC."""
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case datetime():
            return moment(value)
        case float():
            return f"{value:.4g}"
        case _:
            return one_line(value)


def moment(value: datetime) -> str:
    """A time as text for people: `2026-01-31 12:30:00`, in UTC."""
    return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def print_json_list(values: Iterable[Any]) -> None:
    """Print values as a JSON array on stdout, one element a line, in flat memory."""
    separator, out = "[\n", data_stream()
    for value in values:
        out.write(separator + json_text(orjson.dumps(value, option=_JSON).decode()))
        separator = ",\n"
    out.write("[]\n" if separator == "[\n" else "\n]\n")


def write_file(path: Path, pieces: Iterable[bytes]) -> WrittenFile:
    """Write a file that the user named; return its size and digest.

    Raises `InvalidInput` if it cannot be written, and whatever `pieces` raises.
    """
    try:
        return atomic_write(path, pieces)
    except OSError as error:
        raise InvalidInput.because(
            "file-unwritable",
            f"{path} cannot be written: {describe_write_error(path, error)}",
            remedy="name a place where you may write, or change its permissions",
        ) from None
