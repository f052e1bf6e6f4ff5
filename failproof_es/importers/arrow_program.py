"""Program that reads a Parquet file or an Arrow stream, and writes its rows as JSON Lines.

It runs in a separate process with limited memory, because a file of a kilobyte can expand to
gigabytes. It imports nothing from this package.

    python -I arrow_program.py KIND PATH [NAMES]

The first line holds the names of the columns, the metadata of Hugging Face's `datasets`, and the
size of the largest row group in bytes. With NAMES, a JSON list of columns, one line for each row
follows, with the values of those columns. The last line holds the number of rows.
"""

import decimal
import json
import sys
from collections.abc import Iterator
from typing import Any

BATCH = 64
HUGGING_FACE = b"huggingface"
"""The key of a schema's metadata under which `datasets` describes the columns."""
DAMAGED = 3


def main(kind: str, path: str, names: str | None = None) -> int:
    """Write the rows to standard output; errors go to standard error. Returns the exit code.

    `kind` is `parquet` or `arrow`; `names` is a JSON list of columns, `None` for no rows.
    """
    count = 0
    try:
        import pyarrow as pa

        schema, group_bytes, batches = (parquet if kind == "parquet" else arrow)(path)
        hugging_face = (schema.metadata or {}).get(HUGGING_FACE, b"{}").decode("utf-8", "replace")
        write({"names": schema.names, "kept": hugging_face, "group_bytes": group_bytes})
        column_names = [] if names is None else json.loads(names)
        for batch in batches(column_names) if names is not None else ():
            batch.validate(full=True)  # offsets in a hostile file may point anywhere
            columns = [values(batch[name], pa) for name in column_names]
            for row in zip(*columns, strict=True):
                count += 1
                write(row)
        write({"end": count})
    except MemoryError:  # `limited_program` sets the exit code
        raise
    except Exception as error:  # pyarrow raises many types for a damaged file
        if "malloc" in str(error) or "realloc" in str(error):
            raise MemoryError from error
        lines = str(error).strip().splitlines()
        sys.stderr.write(f"{lines[0] if lines else type(error).__name__}\n")
        return DAMAGED
    return 0


def parquet(path: str) -> Any:
    """The schema, the bytes of the largest row group, and a function from columns to batches.

    `path` is a Parquet file. pyarrow's exceptions for a damaged file pass through.
    """
    from pyarrow import parquet as reading

    file = reading.ParquetFile(path)
    groups = [file.metadata.row_group(n).total_byte_size for n in range(file.num_row_groups)]

    def batches(columns: list[str]) -> Iterator[Any]:
        yield from file.iter_batches(BATCH, columns=columns, use_threads=False)

    return file.schema_arrow, max(groups, default=0), batches


def arrow(path: str) -> Any:
    """Like `parquet`, for an Arrow stream as `save_to_disk` writes it; it has no row groups (0)."""
    import pyarrow as pa

    reader = pa.ipc.open_stream(pa.OSFile(path))

    def batches(columns: list[str]) -> Iterator[Any]:
        for batch in reader:
            whole = batch.select(columns)
            for begin in range(0, whole.num_rows, BATCH):
                yield whole.slice(begin, BATCH)

    return reader.schema, 0, batches


def values(column: Any, pa: Any) -> Any:
    """The column's values as Python objects. A date or a time becomes a text in full precision.

    `pa` is the module `pyarrow`.
    """
    if pa.types.is_temporal(column.type) and not pa.types.is_duration(column.type):
        column = column.cast(pa.string())
    return column.to_pylist()


def other(value: Any) -> Any:
    """The JSON form of a value that `json` cannot write: a decimal number's digits as a text.

    For any other value an object that names its type: `{"no text": TYPE}`.
    """
    if isinstance(value, decimal.Decimal) and value.is_finite():
        return f"{value:f}"
    return {"no text": type(value).__name__}


def write(value: Any) -> None:
    """Write a value to standard output, as one line of JSON."""
    sys.stdout.write(json.dumps(value, default=other) + "\n")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
