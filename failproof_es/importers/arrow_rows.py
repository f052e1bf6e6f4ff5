"""Reads rows of Parquet files and Arrow streams, those of Hugging Face data sets included.

Only the requested columns are read. A date or a time becomes a text with its full precision, and
the number of a class (`ClassLabel` of `datasets`) becomes the name of the class. A separate process
with limited memory (`arrow_program`) reads the file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from failproof_es.importers import arrow_program
from failproof_es.importers.protocol import Place
from failproof_es.importers.rows import MAX_COLUMNS, SourceRow, SourceRows, table_error
from failproof_es.importers.source import Source
from failproof_es.problems import InvalidInput
from failproof_es.support import extras
from failproof_es.support.machine.json_lines_child import (
    ChildFailed,
    UnreadableLine,
    read_json_lines,
)

MEMORY = 2 * 2**30
"""Bytes of address space of the process that reads a file."""
MAX_GROUP_BYTES = MEMORY
_MOST_ROW_BYTES = 2**26
_KINDS = {"parquet": "is not Parquet", "arrow": "is no Arrow stream"}


def read_parquet(source: Source, path: Path) -> SourceRows:
    """The rows of a Parquet file.

    Raises `InvalidInput`, also during `read`, if the file is damaged or too large, or if the extra
    `data` is not installed.
    """
    return _read_rows(source, path, "parquet")


def read_arrow(source: Source, path: Path) -> SourceRows:
    """The rows of an Arrow stream, as `save_to_disk` of `datasets` writes it.

    Raises `InvalidInput`, also during `read`, if the file is damaged or too large, or if the extra
    `data` is not installed.
    """
    return _read_rows(source, path, "arrow")


def _read_rows(source: Source, path: Path, kind: str) -> SourceRows:
    extras.require("data", f"reading {kind.title()}")
    source.check(path)
    display_path = source.display_path(path)
    try:
        heading, _ = _read_lines(path, kind)
    except (ChildFailed, UnreadableLine) as error:
        raise _unreadable(display_path, _KINDS[kind], error) from None
    names: list[str] = heading["names"]
    if heading["group_bytes"] > MAX_GROUP_BYTES:
        raise table_error(
            "limit-exceeded",
            display_path,
            f"has a row group of more than {MAX_GROUP_BYTES:,} bytes",
        )
    if len(names) > MAX_COLUMNS:
        raise table_error("limit-exceeded", display_path, f"has more than {MAX_COLUMNS:,} columns")
    if len(set(names)) < len(names):
        raise table_error("duplicate-column", display_path, "has a column twice")
    classes = _class_names(heading["kept"])

    def read(fields: Collection[str]) -> Iterator[SourceRow]:
        columns = [name for name in names if name in fields]
        number = 0
        try:
            # The first is the heading.
            for line in islice(_read_lines(path, kind, columns), 1, None):
                if isinstance(line, list):
                    number += 1
                    values = map(_with_class_name, line, map(classes.get, columns))
                    yield SourceRow(
                        Place(display_path, number), dict(zip(columns, values, strict=True))
                    )
        except (ChildFailed, UnreadableLine) as error:
            raise _unreadable(display_path, "is damaged", error, number + 1) from None

    return SourceRows(names, read)


def _read_lines(path: Path, kind: str, columns: Sequence[str] | None = None) -> Iterator[Any]:
    names = [] if columns is None else [orjson.dumps(list(columns)).decode()]
    return read_json_lines(
        Path(arrow_program.__file__), [kind, str(path.absolute()), *names],
        memory=MEMORY, most_line_bytes=_MOST_ROW_BYTES,
    )  # fmt: skip


def _unreadable(
    display_path: str, message: str, error: ChildFailed | UnreadableLine, line: int | None = None
) -> InvalidInput:
    if isinstance(error, ChildFailed) and error.is_out_of_memory:
        message = f"needs more than {MEMORY / 2**30:g} GiB of memory to be read"
        return table_error("limit-exceeded", display_path, message, line)
    return table_error("file-unreadable", display_path, f"{message}: {error}", line)


def _with_class_name(value: Any, classes: Sequence[str] | None) -> Any:
    """The value; for a column of classes, the name of the class, and `None` for -1 (no class).

    `classes` are the names by number; `None` for a column of other values.
    """
    if classes is None:
        return value
    if value == -1:
        return None
    return classes[value] if type(value) is int and 0 <= value < len(classes) else value


def _class_names(metadata: str) -> Mapping[str, Sequence[str]]:
    """The names of the classes by column, from the metadata of `datasets` as JSON.

    Columns of other values are absent.
    """
    try:
        features = orjson.loads(metadata)["info"]["features"].items()
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}
    return {
        column: feature["names"]
        for column, feature in features
        if isinstance(feature, dict)
        and feature.get("_type") == "ClassLabel"
        and isinstance(feature.get("names"), list)
        and all(isinstance(name, str) for name in feature["names"])
    }
