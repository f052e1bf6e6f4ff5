"""`parquet`: the tables of the projections, one file each, with typed columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from uuid import UUID

from psycopg import sql

from failproof_es.exports.exporter import Export, ExportedFile, LeftOut, Pieces, refuse_settings
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.store.connecting import lift_idle_limit
from failproof_es.store.reading.reader import Connection
from projections.installed import ours, usable_of_others
from projections.relations import LIVE

if TYPE_CHECKING:
    from failproof_es.exports.parquet_types import ParquetColumn

BATCH = 1_000
"""Maximum rows of a batch, which is in memory."""
_BATCH_BYTES = 8_000_000
"""About the maximum bytes of text in a batch."""
_RUN_COLUMNS = ("run_id", "test_run_id")
_RUNS_UNKNOWN = "no column of type uuid names its runs: export all runs"
_OTHER_RUN = "SELECT FROM failproof.run_list WHERE run_id <> ALL (%s) LIMIT 1"
_PROMPTS = "SELECT prompt_id FROM {}.planned_cases WHERE run_id = ANY ({})"
_COLUMNS = """
SELECT a.attname, t.typname FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid
WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_DIGITS = """
coalesce(max(length(split_part(abs({0})::text, '.', 1))), 0)::int,
coalesce(max(scale({0})), 0)::int, coalesce(bool_and({0}::text !~ '[aI]'), true)
"""


class ExportedRelation(NamedTuple):
    """A table or view, and the SQL clauses that select the rows of the chosen runs."""

    name: str
    columns: Sequence[tuple[str, str]]
    """Name and type of each column."""
    rows: sql.Composable
    """The clauses `FROM` and `WHERE`."""


class Parquet:
    """The exporter `parquet`: the tables of the projections, for data frames and query engines."""

    name = "parquet"
    says = "every table of the projections, one Parquet file each"
    extra = "data"

    def with_settings(self, settings: Mapping[str, str]) -> Self:
        """The exporter itself. Raises `InvalidInput` for any setting: it has none."""
        refuse_settings(self.name, settings)
        return self

    def files(self, runs: Sequence[RecordedRun], export: Export) -> Iterator[ExportedFile]:
        """One file for each table or view, with the rows of these runs.

        Tables of other packages' projections are included. Empty without runs.
        """
        if not runs:
            return
        why = "no projection holds them; the log does"
        export.left_out.add("bodies of requests and replies", why)
        for run in runs:
            if run.reader.warning is not None:
                newest = f"the newest rows of run {run.started.run_number}"
                export.left_out.add(newest, run.reader.warning)
        connection = runs[0].connection
        ids = [run.run_id for run in runs]
        for projection in (*ours(), *usable_of_others()):
            for table in projection.relations:
                relation = _relation(connection, table.name, ids, export.left_out)
                if relation is None:
                    continue
                make = partial(_file, connection, relation, export.left_out)
                yield ExportedFile(
                    PurePosixPath(f"{export.prefix}_{table.name}.parquet"), table.name, Pieces(make)
                )


def _relation(
    connection: Connection, name: str, runs: Sequence[UUID], left_out: LeftOut
) -> ExportedRelation | None:
    """The table or view with the rows of these runs.

    `None` if it is left out of the export, which `left_out` then counts.
    """
    columns = connection.execute(_COLUMNS, (f"{LIVE}.{name}",)).fetchall()
    if not columns:
        left_out.add(name, "the table is not there: rebuild it")
        return None
    where = _condition(connection, columns, runs)
    if where is None:
        left_out.add(name, _RUNS_UNKNOWN)
        return None
    rows = sql.SQL("FROM {} WHERE {}").format(sql.Identifier(LIVE, name), where)
    return ExportedRelation(name, columns, rows)


def _condition(
    connection: Connection, columns: Sequence[tuple[str, str]], runs: Sequence[UUID]
) -> sql.Composable | None:
    """The SQL condition for the rows of these runs, or of their cases in a table without runs.

    `columns` are names and types. `None` if no column tells the rows from those of other runs.
    """
    run_ids = sql.Literal(list(runs))
    names = [name for name, kind in columns if kind == "uuid"]
    if of_run := next((name for name in _RUN_COLUMNS if name in names), None):
        return sql.SQL("{} = ANY ({})").format(sql.Identifier(of_run), run_ids)
    if "prompt_id" in names:
        planned = sql.SQL(_PROMPTS).format(sql.Identifier(LIVE), run_ids)
        return sql.SQL("prompt_id IN ({})").format(planned)
    other_run = connection.execute(_OTHER_RUN, (list(runs),)).fetchone()
    return sql.SQL("true") if other_run is None else None


def columns_of(connection: Connection, relation: ExportedRelation) -> list[ParquetColumn]:
    """The columns for Parquet, each of a type that holds every value of the rows exactly."""
    from failproof_es.exports.parquet_types import Digits, column_of

    numeric = [name for name, kind in relation.columns if kind == "numeric"]
    digits: dict[str, Digits] = {}
    if numeric:
        looked = sql.SQL(", ").join(
            sql.SQL(_DIGITS).format(sql.Identifier(name)) for name in numeric
        )
        row = connection.execute(sql.SQL("SELECT {} {}").format(looked, relation.rows)).fetchone()
        assert row is not None
        digits = {name: Digits(*row[3 * at : 3 * at + 3]) for at, name in enumerate(numeric)}
    return [column_of(name, kind, digits.get(name, Digits())) for name, kind in relation.columns]


def _file(
    connection: Connection, relation: ExportedRelation, left_out: LeftOut, pieces: Pieces
) -> Iterator[bytes]:
    """The bytes of a Parquet file, a batch of rows at a time."""
    import pyarrow as pa
    from pyarrow import parquet

    columns = columns_of(connection, relation)
    for column in columns:
        if column.changed is not None:
            left_out.add(f"{relation.name}.{column.name}", f"as text: {column.changed}")
    schema = pa.schema([(column.name, column.type) for column in columns])
    sink = _Sink()
    with parquet.ParquetWriter(sink, schema, compression="zstd") as writer:
        for batch in _batches(connection, relation, columns):
            pieces.rows += len(batch)
            values = [
                pa.array([row[at] for row in batch], column.type)
                for at, column in enumerate(columns)
            ]
            writer.write_batch(pa.record_batch(values, schema=schema))
            yield sink.take_bytes()
    yield sink.take_bytes()


def _batches(
    connection: Connection, relation: ExportedRelation, columns: Sequence[ParquetColumn]
) -> Iterator[list[list[Any]]]:
    """The converted rows in batches of at most `BATCH`. JSON is read as the stored text."""
    column_list = sql.SQL(", ").join(
        sql.SQL("{}::text").format(sql.Identifier(name))
        if kind in ("json", "jsonb")
        else sql.Identifier(name)
        for name, kind in relation.columns
    )
    converts = [column.convert for column in columns]
    with connection.transaction(), connection.cursor("exported_rows") as cursor:
        lift_idle_limit(connection)
        cursor.itersize = 100
        cursor.execute(sql.SQL("SELECT {} {}").format(column_list, relation.rows))
        batch: list[list[Any]] = []
        size = 0
        for row in cursor:
            values = [
                value if value is None or convert is None else convert(value)
                for value, convert in zip(row, converts, strict=True)
            ]
            batch.append(values)
            size += sum(len(value) for value in values if isinstance(value, str))
            if len(batch) == BATCH or size >= _BATCH_BYTES:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch


class _Sink:
    """A file object for Parquet's writer; `take_bytes` removes and returns its content."""

    closed = False

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._position = 0

    def write(self, data: Any) -> int:
        content = bytes(data)
        self._pieces.append(content)
        self._position += len(content)
        return len(content)

    def tell(self) -> int:
        return self._position

    def flush(self) -> None:
        """Do nothing: the bytes stay until `take_bytes`."""

    def close(self) -> None:
        """Do nothing: the writer calls it at its end."""

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def take_bytes(self) -> bytes:
        """The bytes written since the last call, which are then forgotten."""
        content = b"".join(self._pieces)
        self._pieces.clear()
        return content
