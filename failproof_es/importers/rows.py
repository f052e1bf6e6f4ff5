"""Reads rows of tables and data sets: CSV, JSON Lines and JSON lists; see also `arrow_rows`."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from failproof_es.dialects.kit.json_lines import MAX_LINE_BYTES, Defect, parse_object, read_objects
from failproof_es.importers.protocol import Place
from failproof_es.importers.record_values import without_point
from failproof_es.importers.source import Source
from failproof_es.problems import InvalidInput, Problem, Problems

MAX_COLUMNS = 10_000
_MOST_PROBLEMS = 100
_SEPARATORS = ",;\t"
_MISSING = frozenset({"nan", "-nan", "none", "null", "<na>"})
"""Words that pandas, Python and databases write for a missing value, in lower case."""
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)


class _FewProblems(Problems):
    """Problems that raise `InvalidInput` at the 100th one, for files with a million bad lines."""

    def error(self, code: str, message: str, **place: Any) -> None:
        """Add an error. Raises `InvalidInput`, with all errors, at the 100th one."""
        Problems.error(self, code, message, **place)
        if len(self.problems) >= _MOST_PROBLEMS:
            self.raise_errors()


class SourceRow(NamedTuple):
    """A record and its place."""

    place: Place
    record: dict[str, Any]


@dataclass(frozen=True, slots=True)
class SourceRows:
    """The records of one file: the names of its fields, and a function that reads the records.

    `read` takes the names of the requested fields. Formats with separate columns return no other
    fields, so that a damaged column that is not mapped does no harm.
    """

    names: Sequence[str]
    read: Callable[[Collection[str]], Iterator[SourceRow]]
    remarks: list[str] = field(default_factory=list)
    """Remarks on how cells were read, complete when `read` is."""


def read_csv(source: Source, path: Path) -> SourceRows:
    """The rows of a CSV or TSV file with a heading; a cell is a text, or `None` if it is missing.

    `NaN`, `None` and `null` are missing values. In a column of numbers alone `3.0` is `3`: pandas
    writes whole numbers with a point as soon as one of the column is missing. Raises
    `InvalidInput`, also during `read`, if the file is not UTF-8 or not CSV, or if a row has another
    number of cells than the heading.
    """
    display_path, names = _read_heading(source, path)
    remarks: list[str] = []

    def rows(selected: Collection[str]) -> Iterator[SourceRow]:
        numeric = _number_columns(_csv_records(path, display_path), names, selected)
        shortened: dict[str, None] = {}

        def value_of(name: str, cell: str) -> str | None:
            if (text := cell.strip()).lower() in _MISSING:
                return None
            if name in numeric and (whole := without_point(text)) != text:
                shortened[name] = None
                return whole
            return cell

        yield from _csv_rows(path, display_path, names, value_of)
        remarks.extend(
            f"{display_path}: {name}: 3.0 is read as 3: a column of numbers" for name in shortened
        )

    return SourceRows(names, rows, remarks)


def read_texts(source: Source, path: Path) -> SourceRows:
    """The rows of a CSV or TSV file with a heading; each cell is its text as it is written.

    Raises `InvalidInput` as `read_csv` does.
    """
    display_path, names = _read_heading(source, path)
    return SourceRows(names, lambda _: _csv_rows(path, display_path, names, lambda _, cell: cell))


def _read_heading(source: Source, path: Path) -> tuple[str, list[str]]:
    """The path of a table as displayed, and the names of its columns without white space around.

    Raises `InvalidInput` if the table has no heading, too many columns, or one twice.
    """
    source.check(path)
    display_path = source.display_path(path)
    csv.field_size_limit(MAX_LINE_BYTES)
    first = next(_csv_records(path, display_path), None)
    if first is None:
        raise table_error("empty-file", display_path, "is empty: it holds no heading")
    line, names = first[0], [name.strip() for name in first[1]]
    if len(names) > MAX_COLUMNS:
        message = f"has more than {MAX_COLUMNS:,} columns"
        raise table_error("limit-exceeded", display_path, message, line)
    if twice := next((name for name, count in Counter(names).items() if count > 1), None):
        raise table_error("duplicate-column", display_path, f"has the column {twice!r} twice", line)
    return display_path, names


def _number_columns(
    records: Iterator[tuple[int, list[str]]], names: Sequence[str], selected: Collection[str]
) -> frozenset[str]:
    """The columns, of `selected`, whose cells are all numbers or missing."""
    next(records)
    numeric = {at for at, name in enumerate(names) if name in selected}
    for _, cells in records:
        if not numeric:
            break
        numeric -= {
            at
            for at in numeric
            if at < len(cells)
            and not _is_missing(text := cells[at].strip())
            and not _NUMBER.fullmatch(text)
        }
    return frozenset(names[at] for at in numeric)


def _is_missing(text: str) -> bool:
    return not text or text.lower() in _MISSING


def _csv_records(path: Path, display_path: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the first line number and the cells of each record that is not blank.

    Raises `InvalidInput` if the file is not UTF-8 or not CSV; `display_path` is its path in the
    error.
    """
    with path.open("r", encoding="utf-8-sig", newline="") as file:
        before = 0
        try:
            reader = csv.reader(file, delimiter=_separator(file, path.suffix.lower()), strict=True)
            for cells in reader:
                line, before = before + 1, reader.line_num
                if cells:
                    yield line, cells
        except csv.Error as error:
            raise table_error("not-csv", display_path, f"is not CSV: {error}", before + 1) from None
        except UnicodeDecodeError:
            remedy = "save it as UTF-8"
            problem = Problem(
                "not-utf8", "is not UTF-8", Path(display_path), before + 1, remedy=remedy
            )
            raise InvalidInput([problem]) from None


def _separator(file: io.TextIOBase, suffix: str) -> str:
    if suffix == ".tsv":
        return "\t"
    head = file.readline(100_000)
    file.seek(0)
    return max(_SEPARATORS, key=head.count)  # the first separator if the line has none


def _csv_rows(
    path: Path,
    display_path: str,
    names: Sequence[str],
    value_of: Callable[[str, str], str | None],
) -> Iterator[SourceRow]:
    """The rows after the heading. `value_of` makes the value of a column's name and a cell."""
    problems = _FewProblems()
    for line, cells in islice(_csv_records(path, display_path), 1, None):
        if len(cells) != len(names):
            message = f"has {len(cells)} cells, the heading has {len(names)}"
            problems.error("wrong-cell-count", message, path=Path(display_path), line=line)
        else:
            record = {name: value_of(name, cell) for name, cell in zip(names, cells, strict=True)}
            yield SourceRow(Place(display_path, line), record)
    problems.raise_errors()


def read_json_lines(source: Source, path: Path) -> SourceRows:
    """The rows of a JSON Lines file, one object a line.

    Raises `InvalidInput`, also during `read`, if a line is not a JSON object.
    """
    source.check(path)
    display_path = source.display_path(path)
    names: dict[str, None] = {}
    first_problems = _FewProblems()
    for _, document in read_objects(path, first_problems):
        names.update(dict.fromkeys(document))
        if len(names) > MAX_COLUMNS:
            raise table_error(
                "limit-exceeded", display_path, f"has more than {MAX_COLUMNS:,} fields"
            )
    if not names:
        first_problems.raise_errors()

    def rows() -> Iterator[SourceRow]:
        problems = _FewProblems()
        for line, document in read_objects(path, problems):
            yield SourceRow(Place(display_path, line), document)
        problems.raise_errors()

    return SourceRows(list(names), lambda _: rows())


def read_json(source: Source, path: Path) -> SourceRows:
    """The rows of a JSON list of objects.

    As strict as JSON Lines. Raises `InvalidInput` if the file is anything else.
    """
    display_path = source.display_path(path)
    text = source.text(path)
    try:
        document = parse_object(f'{{"rows":{text}}}'.encode(), "file")
    except Defect as defect:
        raise table_error(defect.code, display_path, defect.message, defect.line) from None
    documents = document["rows"] if document.keys() == {"rows"} else None
    if not isinstance(documents, list) or not all(isinstance(row, dict) for row in documents):
        raise table_error("wrong-type", display_path, "is not a JSON list of objects")
    names = dict.fromkeys(name for row in documents for name in row)
    rows = (SourceRow(Place(display_path, None, f"[{n}]"), row) for n, row in enumerate(documents))
    return SourceRows(list(names), lambda _: rows)


def table_error(
    code: str, display_path: str, message: str, line: int | None = None
) -> InvalidInput:
    return InvalidInput([Problem(code, message, Path(display_path), line)])
