"""Reads rows of columns: Parquet files and Arrow streams, those of Hugging Face data sets included.

Only the columns that are wanted are read. A date or a time becomes its text, as exact as it is
kept, and the number of a class (`ClassLabel` of `datasets`) becomes the name of the class.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from failproof_es.importers.protocol import Place
from failproof_es.importers.rows import MAX_COLUMNS, Row, Rows, bad
from failproof_es.importers.source import Source
from failproof_es.support import extras

if TYPE_CHECKING:
    import pyarrow as pa

MAX_GROUP_BYTES = 2 * 1024**3
_BATCH = 64
_HUGGING_FACE = b"huggingface"
"""Where `datasets` says in a schema what its columns are."""

Batches = Callable[[Sequence[str]], "Iterator[pa.RecordBatch]"]
"""The batches of a file, with these columns."""


def read_parquet(source: Source, path: Path) -> Rows:
    """A Parquet file. Raises `InvalidInput`, also while it is read."""
    extras.require("data", "reading Parquet")
    import pyarrow as pa
    from pyarrow import parquet

    source.check(path)
    shown = source.shown(path)
    try:
        file = parquet.ParquetFile(path)
        schema = file.schema_arrow
        names = schema.names
        groups = [file.metadata.row_group(n) for n in range(file.metadata.num_row_groups)]
    except (pa.ArrowException, OSError, ValueError) as error:
        raise bad(shown, f"is not Parquet: {_said(error)}") from None
    if any(group.total_byte_size > MAX_GROUP_BYTES for group in groups):
        raise bad(shown, f"has a row group of more than {MAX_GROUP_BYTES:,} bytes")

    def batches(wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
        found: Iterator[pa.RecordBatch] = file.iter_batches(_BATCH, columns=list(wanted))
        return found

    return _rows(shown, schema, names, batches)


def read_arrow(source: Source, path: Path) -> Rows:
    """An Arrow stream, as `save_to_disk` writes it. Raises `InvalidInput`, also while read."""
    extras.require("data", "reading Arrow")
    import pyarrow as pa

    source.check(path)
    shown = source.shown(path)
    try:
        reader = pa.ipc.open_stream(pa.memory_map(str(path)))
        names = reader.schema.names
    except (pa.ArrowException, OSError, ValueError) as error:
        raise bad(shown, f"is no Arrow stream: {_said(error)}") from None

    def batches(wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for batch in reader:
            whole = batch.select(list(wanted))
            for begin in range(0, whole.num_rows, _BATCH):
                yield whole.slice(begin, _BATCH)

    return _rows(shown, reader.schema, names, batches)


def _rows(shown: str, schema: pa.Schema, names: Sequence[str], batches: Batches) -> Rows:
    if len(names) > MAX_COLUMNS:
        raise bad(shown, f"has more than {MAX_COLUMNS:,} columns")
    if len(set(names)) < len(names):
        raise bad(shown, "has a column twice")
    classes = _classes(schema)

    def read(wanted: Collection[str]) -> Iterator[Row]:
        import pyarrow as pa

        chosen = [name for name in names if name in wanted]
        number = 0
        try:
            for batch in batches(chosen):
                batch.validate(full=True)  # of a hostile file, offsets may lead anywhere
                columns = [_values(batch[name], classes.get(name)) for name in chosen]
                for values in zip(*columns, strict=True):
                    number += 1
                    yield Row(Place(shown, number), dict(zip(chosen, values, strict=True)))
        except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
            raise bad(shown, f"is damaged: {_said(error)}", number + 1) from None

    return Rows(names, read)


def _values(column: pa.Array, classes: Sequence[str] | None) -> list[Any]:
    import pyarrow as pa

    if pa.types.is_temporal(column.type) and not pa.types.is_duration(column.type):
        column = column.cast(pa.string())
    values: list[Any] = column.to_pylist()
    if classes is None:
        return values
    return [_class(value, classes) for value in values]


def _class(value: Any, classes: Sequence[str]) -> Any:
    """The class's name; -1 is how `datasets` writes that there is none."""
    if value == -1:
        return None
    return classes[value] if type(value) is int and 0 <= value < len(classes) else value


def _classes(schema: pa.Schema) -> Mapping[str, Sequence[str]]:
    """The names of the classes, by column, as `datasets` keeps them with a table."""
    try:
        said = orjson.loads((schema.metadata or {}).get(_HUGGING_FACE, b"{}"))
        features = said["info"]["features"].items()
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


def _said(error: Exception) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__
