"""Reads rows of tables and data sets: CSV, JSON Lines, JSON lists, Parquet, Arrow streams."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from failproof_es.dialects.kit.json_lines import MAX_LINE_BYTES, Defect, parse_object, read_objects
from failproof_es.importers.protocol import Place
from failproof_es.importers.source import Source
from failproof_es.problems import InvalidInput, Problem, Problems
from failproof_es.support import extras

MAX_COLUMNS = 10_000
MAX_GROUP_BYTES = 2 * 1024**3
_BATCH = 64
_MOST_PROBLEMS = 100
_SEPARATORS = {".tsv": "\t", ".csv": ","}


class _FewProblems(Problems):
    """Raises what was found as soon as it is a lot: of a file of a million bad lines, too."""

    def error(self, message: str, **place: Any) -> None:
        """See `Problems.error`. Raises `InvalidInput`."""
        Problems.error(self, message, **place)
        if len(self.found) >= _MOST_PROBLEMS:
            self.raise_errors()


class Row(NamedTuple):
    """A record and where it stands."""

    place: Place
    record: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Rows:
    """Records of one file: the names of its fields, then the records, read once."""

    names: Sequence[str]
    rows: Iterator[Row]


def read_csv(source: Source, path: Path) -> Rows:
    """A CSV file with a heading. Raises `InvalidInput`, also while it is read."""
    source.check(path)
    shown = source.shown(path)
    csv.field_size_limit(MAX_LINE_BYTES)
    records = _csv_records(path, shown)
    first = next(records, None)
    if first is None:
        raise _bad(shown, "is empty: it holds no heading")
    names = first[1]
    if len(names) > MAX_COLUMNS:
        raise _bad(shown, f"has more than {MAX_COLUMNS:,} columns", first[0])
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise _bad(shown, f"has the column {twice[0]!r} twice", first[0])
    return Rows(names, _csv_rows(shown, names, records))


def _csv_records(path: Path, shown: str) -> Iterator[tuple[int, list[str]]]:
    """(the line it begins at, its cells) of each record that is not blank."""
    with path.open("r", encoding="utf-8-sig", newline="") as file:
        before = 0
        try:
            reader = csv.reader(file, delimiter=_separator(file, path.suffix.lower()), strict=True)
            for cells in reader:
                line, before = before + 1, reader.line_num
                if cells:
                    yield line, cells
        except csv.Error as error:
            raise _bad(shown, f"is not CSV: {error}", before + 1) from None
        except UnicodeDecodeError:
            remedy = "save it as UTF-8"
            problem = Problem("is not UTF-8", Path(shown), before + 1, remedy=remedy)
            raise InvalidInput([problem]) from None


def _separator(file: io.TextIOBase, suffix: str) -> str:
    if suffix == ".tsv":
        return _SEPARATORS[suffix]
    head = file.readline(100_000)
    file.seek(0)
    return ";" if head.count(";") > head.count(",") else ","


def _csv_rows(
    shown: str, names: Sequence[str], records: Iterator[tuple[int, list[str]]]
) -> Iterator[Row]:
    problems = _FewProblems()
    for line, cells in records:
        if len(cells) != len(names):
            said = f"has {len(cells)} cells, the heading has {len(names)}"
            problems.error(said, path=Path(shown), line=line)
        else:
            yield Row(Place(shown, line), dict(zip(names, cells, strict=True)))
    problems.raise_errors()


def read_json_lines(source: Source, path: Path) -> Rows:
    """JSON Lines: one object a line. Raises `InvalidInput` when it has been read."""
    source.check(path)
    shown = source.shown(path)
    names: dict[str, None] = {}
    found = _FewProblems()
    for _, document in read_objects(path, found):
        names.update(dict.fromkeys(document))
        if len(names) > MAX_COLUMNS:
            raise _bad(shown, f"has more than {MAX_COLUMNS:,} fields")
    if not names:
        found.raise_errors()

    def rows() -> Iterator[Row]:
        problems = _FewProblems()
        for line, document in read_objects(path, problems):
            yield Row(Place(shown, line), document)
        problems.raise_errors()

    return Rows(list(names), rows())


def read_json(source: Source, path: Path) -> Rows:
    """A JSON list of objects, as strict as JSON Lines. Raises `InvalidInput`."""
    shown = source.shown(path)
    text = source.text(path)
    try:
        listed = parse_object(f'{{"rows":{text}}}'.encode(), "file")["rows"]
    except Defect as defect:
        raise _bad(shown, defect.message, defect.line) from None
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise _bad(shown, "is not a JSON list of objects")
    names = dict.fromkeys(name for each in listed for name in each)
    rows = (Row(Place(shown, None, f"[{n}]"), each) for n, each in enumerate(listed))
    return Rows(list(names), rows)


def read_parquet(source: Source, path: Path) -> Rows:
    """A Parquet file. Raises `InvalidInput`, also while it is read."""
    extras.require("data", "reading Parquet")
    import pyarrow as pa
    from pyarrow import parquet

    source.check(path)
    shown = source.shown(path)
    try:
        file = parquet.ParquetFile(path)
        names = file.schema_arrow.names
        groups = [file.metadata.row_group(n) for n in range(file.metadata.num_row_groups)]
    except (pa.ArrowException, OSError) as error:
        raise _bad(shown, f"is not Parquet: {_said(error)}") from None
    if any(group.total_byte_size > MAX_GROUP_BYTES for group in groups):
        raise _bad(shown, f"has a row group of more than {MAX_GROUP_BYTES:,} bytes")
    return _arrow_rows(shown, names, (batch for batch in file.iter_batches(batch_size=_BATCH)))


def read_arrow(source: Source, path: Path) -> Rows:
    """An Arrow stream, as `save_to_disk` writes it. Raises `InvalidInput`, also while read."""
    extras.require("data", "reading Arrow")
    import pyarrow as pa

    source.check(path)
    shown = source.shown(path)
    try:
        reader = pa.ipc.open_stream(pa.memory_map(str(path)))
        names = reader.schema.names
    except (pa.ArrowException, OSError) as error:
        raise _bad(shown, f"is no Arrow stream: {_said(error)}") from None
    return _arrow_rows(shown, names, (part for batch in reader for part in _parts(batch)))


def _parts(batch: Any) -> Iterator[Any]:
    for begin in range(0, batch.num_rows, _BATCH):
        yield batch.slice(begin, _BATCH)


def _arrow_rows(shown: str, names: Sequence[str], batches: Iterator[Any]) -> Rows:
    if len(names) > MAX_COLUMNS:
        raise _bad(shown, f"has more than {MAX_COLUMNS:,} columns")
    if len(set(names)) < len(names):
        raise _bad(shown, "has a column twice")

    def rows() -> Iterator[Row]:
        import pyarrow as pa

        number = 0
        try:
            for batch in batches:
                for record in batch.to_pylist():
                    number += 1
                    yield Row(Place(shown, number), record)
        except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
            raise _bad(shown, f"is damaged: {_said(error)}", number + 1) from None

    return Rows(names, rows())


def _said(error: Exception) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__


def _bad(shown: str, said: str, line: int | None = None) -> InvalidInput:
    return InvalidInput([Problem(said, Path(shown), line)])
