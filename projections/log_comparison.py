"""Compares the rows of projections with the log, for `verify`.

The events are folded into temporary tables, by the code that a rebuild uses. So the comparison
covers every column, and defines no row a second time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, LiteralString, TypeVar
from uuid import UUID

import psycopg
from psycopg import sql

from failproof_es.core.case import operations_id
from failproof_es.events import CarriedOver, CasesPlanned, Reviewed
from failproof_es.store.reading.archives import archived_runs
from failproof_es.store.reading.reader import iterate_streams
from failproof_es.support.untrusted_text import shortened
from projections import PROJECTIONS
from projections.archives import ARCHIVING, Forgetful
from projections.batch import Batch, fact_of, read_batch, read_run, take_in
from projections.definitions import read_model_differences
from projections.positions import hold_positions, read_positions
from projections.protocol import Fact, Projection, topics_of
from projections.relations import LIVE, enter, is_whole
from projections.results.batch_runs import prompts_of

Connection = psycopg.Connection[Any]
T = TypeVar("T")
Progress = Callable[[int, int], None]
_Pair = tuple[dict[str, Any] | None, dict[str, Any] | None]

_SCRATCH: LiteralString = "pg_temp"
_RUN_COLUMNS = ("run_id", "test_run_id")
_NAMING = ("run_id", "model_key", "repetition", "case_id")
"""Columns that name a row for people, if it has them."""
_AT_ONCE = 2_000
"""Events of a run, or streams, in a batch: fewer than in a rebuild, for less memory."""
MOST_CHANGED = 1_000
"""Most changed rows of a table that are looked at."""
_LONGEST_VALUE = 100
_OUTDATED = "another version of this program built its tables, and readers rebuild them first"
_BEHIND = (
    "it is behind the archiving of a run: `failproof-es projections rebuild {}` brings it up, by a "
    "login that may write it"
)

_COLUMNS = """
SELECT a.attname, coalesce(a.attnum = ANY (i.indkey), false)
FROM pg_attribute AS a
LEFT JOIN pg_index AS i ON i.indrelid = a.attrelid AND i.indisprimary
WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""
_REVIEW_STREAMS = """
SELECT DISTINCT originator_id
FROM failproof.stored_events
WHERE topic = %s AND position(%s::bytea IN state) > 0
"""
_DIFFERENCES = sql.SQL("""
WITH of_log AS MATERIALIZED (
    SELECT {key} AS key, row_to_json(t)::text AS document FROM {scratch} AS t WHERE {of_run}
),
of_table AS MATERIALIZED (
    SELECT {key} AS key, row_to_json(t)::text AS document FROM {live} AS t WHERE {of_run_live}
)
SELECT key, true AS is_of_log, document FROM (TABLE of_log EXCEPT ALL TABLE of_table) AS _
UNION ALL
SELECT key, false AS is_of_log, document FROM (TABLE of_table EXCEPT ALL TABLE of_log) AS _
ORDER BY key
""")
"""Without a limit: rows that differ only as texts, such as 0.50 and 0.5, must not use one up."""


@dataclass(frozen=True, slots=True)
class ChangedRow:
    """A row of a projection's table that differs from the log."""

    table: str
    """The table with its schema."""
    names: Mapping[str, Any]
    """The columns that name the row."""
    in_table: Mapping[str, Any] | None
    """The row in the table; `None` if it is missing there."""
    in_log: Mapping[str, Any] | None
    """The row that the log gives; `None` if it gives none."""

    @property
    def differences(self) -> dict[str, tuple[Any, Any]]:
        """(value in the table, value by the log) of each column that differs.

        Empty if either has no such row.
        """
        if self.in_table is None or self.in_log is None:
            return {}
        return {
            column: (value, self.in_log.get(column))
            for column, value in self.in_table.items()
            if value != self.in_log.get(column)
        }

    def __str__(self) -> str:
        row = ", ".join(f"{name} {value}" for name, value in self.names.items())
        if self.in_table is None:
            return f"{self.table}: the row of {row} is missing"
        if self.in_log is None:
            return f"{self.table}: the log gives no row of {row}"
        return f"{self.table}: row of {row}: " + "; ".join(
            f"{column} is {_value_text(in_table)}, by the log {_value_text(in_log)}"
            for column, (in_table, in_log) in self.differences.items()
        )


class NotComparable(RuntimeError):
    """The comparison needs temporary tables, which this login or this server does not allow."""


@dataclass(slots=True)
class RowComparison:
    """The result of a comparison of rows with the log."""

    projections: list[str] = field(default_factory=list)
    """The projections whose rows were compared."""
    not_compared: dict[str, str] = field(default_factory=dict)
    """Why others were not, by name."""
    behind: list[str] = field(default_factory=list)
    """Projections of `not_compared` that are behind the archiving of a run."""
    rows: int = 0
    """Rows that the log gives."""
    changed: list[ChangedRow] = field(default_factory=list)
    """At most `MOST_CHANGED` of each table."""
    not_as_installed: list[str] = field(default_factory=list)
    """Objects that may show other rows to other readers, such as a row-security policy."""

    @property
    def deviations(self) -> list[str]:
        """The difference, in words."""
        return [*self.not_as_installed, *map(str, self.changed)]


def compare_run(connection: Connection, run_id: UUID) -> RowComparison:
    """Compare the rows of a run, and those of its cases, with its events.

    Each projection is compared as of the position that it has reached. Writes temporary tables,
    which are gone afterwards. Raises `UnreadableState` for an event of a newer version, and
    `NotComparable`.
    """
    return _compare(connection, run_id, lambda _, __: None)


def compare_log(connection: Connection, progress: Progress) -> RowComparison:
    """Compare every row with the whole log. Otherwise as `compare_run`.

    `progress` is called with the position reached and the last one.
    """
    return _compare(connection, None, progress)


def _compare(connection: Connection, run_id: UUID | None, progress: Progress) -> RowComparison:
    comparison = RowComparison()
    with _snapshot(connection):
        by_position = _current_projections(connection, comparison)
        if _OUTDATED not in comparison.not_compared.values():  # else all would differ
            different = read_model_differences(connection)
            comparison.not_as_installed = [difference.what for difference in different]
        for up_to, projections in by_position.items():
            with connection.transaction(force_rollback=True):
                _create_scratch(connection, projections)
                if run_id is None:
                    _fold_log(connection, projections, up_to, progress)
                else:
                    _fold_run(connection, projections, run_id, up_to)
                for projection in projections:
                    _compare_tables(connection, projection, run_id, comparison)
    return comparison


def _create_scratch(connection: Connection, projections: Sequence[Projection]) -> None:
    enter(connection, _SCRATCH)
    try:
        for projection in projections:
            connection.execute(projection.ddl())
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction) as error:
        raise NotComparable(str(error).splitlines()[0]) from error


@contextmanager
def _snapshot(connection: Connection) -> Iterator[None]:
    with connection.transaction(force_rollback=True):
        try:  # a role may have `default_transaction_read_only`; a standby allows no other
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE")
        except (psycopg.errors.FeatureNotSupported, psycopg.errors.ActiveSqlTransaction) as error:
            raise NotComparable(str(error).splitlines()[0]) from error
        hold_positions(connection)
        yield


def _current_projections(
    connection: Connection, comparison: RowComparison
) -> dict[int, list[Projection]]:
    """The projections that can be compared, by the position that they have reached."""
    by_position: dict[int, list[Projection]] = {}
    positions = read_positions(connection)
    last_archiving = _last_archiving(connection)
    for projection in PROJECTIONS:
        name, position = projection.name, positions.get(projection.name)
        if position is None or not is_whole(connection, projection):
            comparison.not_compared[name] = "its tables are not built"
        elif position.version != projection.version:
            comparison.not_compared[name] = _OUTDATED
        elif position.position < last_archiving:
            comparison.not_compared[name] = _BEHIND.format(name)
            comparison.behind.append(name)
        else:
            comparison.projections.append(name)
            by_position.setdefault(position.position, []).append(projection)
    return by_position


def _last_archiving(connection: Connection) -> int:
    """The position of the last event that archives or attaches a run; 0 without one."""
    row = connection.execute(
        "SELECT coalesce(max(notification_id), 0) FROM failproof.stored_events "
        "WHERE topic = ANY (%s)",
        (list(ARCHIVING),),
    ).fetchone()
    return 0 if row is None else int(row[0])


def _fold_log(
    connection: Connection, projections: Sequence[Projection], up_to: int, progress: Progress
) -> None:
    topics = topics_of(projections)
    position = 0
    while position < up_to and (batch := read_batch(connection, position, topics)) is not None:
        facts = [fact for fact in batch.facts if fact.position <= up_to]
        reached = dict.fromkeys([projection.name for projection in projections], position)
        take_in(connection, projections, reached, replace(batch, facts=facts))
        position = batch.position
        progress(min(position, up_to), up_to)


def _fold_run(
    connection: Connection, projections: Sequence[Projection], run_id: UUID, up_to: int
) -> None:
    """Apply the events of a run's cases, evaluations, operations, reviews and own stream."""
    nowhere = dict.fromkeys([projection.name for projection in projections], 0)
    sources: set[UUID] = set()

    def apply(facts: Sequence[Fact]) -> None:
        batch = Batch(len(facts), 0, facts)
        take_in(connection, projections, nowhere, batch, in_order=False)

    for facts in _read_streams(connection, _planned_prompts(connection, run_id), up_to):
        apply(facts)
    topics = topics_of(projections)
    for batch in read_run(connection, run_id, up_to + 1, topics, at_once=_AT_ONCE):
        apply(batch.facts)
        sources.update(
            fact.event.source_evaluation_id
            for fact in batch.facts
            if isinstance(fact.event, CarriedOver)
        )
    beside = [operations_id(run_id), *_review_streams(connection, run_id), *sources]
    for facts in _read_streams(connection, beside, up_to):
        apply(facts)
    if run_id in archived_runs(connection):
        with connection.cursor() as cursor:
            for projection in projections:
                if isinstance(projection, Forgetful):
                    projection.forget_run(cursor, run_id)


def _planned_prompts(connection: Connection, run_id: UUID) -> list[UUID]:
    return [
        prompt
        for facts in _read_streams(connection, [run_id])
        for fact in facts
        if isinstance(fact.event, CasesPlanned)
        for prompt in prompts_of(fact.event.digests)
    ]


def _review_streams(connection: Connection, run_id: UUID) -> set[UUID]:
    """The streams with reviews that name the run: they are not filed under it."""
    rows = connection.execute(_REVIEW_STREAMS, (Reviewed.__name__, str(run_id).encode()))
    return {stream_id for (stream_id,) in rows}


def _read_streams(
    connection: Connection, streams: Iterable[UUID], up_to: int | None = None
) -> Iterator[list[Fact]]:
    """The events of these streams, portion by portion: a stream's in the order of positions."""
    ids: dict[str, UUID] = {}
    for portion in _batches(streams):
        for rows in _batches(iterate_streams(connection, portion)):
            facts = [
                fact_of(
                    ids, row.position, str(row.stream_id), row.version, row.topic,
                    None if row.run_id is None else str(row.run_id), row.state,
                )
                for row in rows
                if up_to is None or row.position <= up_to
            ]  # fmt: skip
            if facts:
                yield facts


def _batches(values: Iterable[T]) -> Iterator[list[T]]:
    remaining = iter(values)
    while portion := list(islice(remaining, _AT_ONCE)):
        yield portion


def _compare_tables(
    connection: Connection, projection: Projection, run_id: UUID | None, comparison: RowComparison
) -> None:
    for relation in projection.relations:
        if relation.kind == "TABLE":
            comparison.changed += _changed_rows(connection, relation.name, run_id)
            scratch = sql.Identifier(_SCRATCH, relation.name)
            row = connection.execute(sql.SQL("SELECT count(*) FROM {}").format(scratch)).fetchone()
            comparison.rows += 0 if row is None else int(row[0])


def _changed_rows(
    connection: Connection, table: LiteralString, run_id: UUID | None
) -> list[ChangedRow]:
    columns = connection.execute(_COLUMNS, (f"{_SCRATCH}.{table}",)).fetchall()
    key = [name for name, is_key in columns if is_key] or [name for name, _ in columns]
    of_run, of_run_live = _filters(table, [name for name, _ in columns], key, run_id)
    key_texts = [sql.SQL("{}::text").format(sql.Identifier("t", name)) for name in key]
    statement = _DIFFERENCES.format(
        key=sql.SQL("ARRAY[{}]").format(sql.SQL(", ").join(key_texts)),
        scratch=sql.Identifier(_SCRATCH, table), live=sql.Identifier(LIVE, table),
        of_run=of_run, of_run_live=of_run_live,
    )  # fmt: skip
    with connection.cursor("differences") as cursor:
        cursor.execute(statement)
        pairs = list(islice(_differing_pairs(cursor, key), MOST_CHANGED))
    return [
        ChangedRow(
            f"{LIVE}.{table}", _names(connection, table, in_table or in_log or {}, key),
            in_table, in_log,
        )
        for in_table, in_log in pairs
    ]  # fmt: skip


def _differing_pairs(
    differences: Iterable[tuple[list[str], bool, str]], key: Sequence[str]
) -> Iterator[_Pair]:
    """The row in the table and the row that the log gives, of each key for which they differ."""
    for key_texts, rows in groupby(differences, key=itemgetter(0)):
        _, are_of_log, documents = zip(*rows, strict=True)
        sides: tuple[list[dict[str, Any]], list[dict[str, Any]]] = [], []
        parsed = _parse(documents, dict(zip(key, key_texts, strict=True)))
        for is_of_log, row in zip(are_of_log, parsed, strict=True):
            sides[is_of_log].append(row)
        in_table, in_log = sides
        if in_table != in_log:
            yield next(iter(in_table), None), next(iter(in_log), None)


def _filters(
    table: LiteralString, columns: Sequence[str], key: Sequence[str], run_id: UUID | None
) -> tuple[sql.Composable, sql.Composable]:
    """The conditions for the rows to compare: of the fold's table, and of the live one.

    Of a table without a run, such as that of the cases, the rows that the fold made.
    """
    if run_id is None:
        return sql.SQL("true"), sql.SQL("true")
    for name in _RUN_COLUMNS:
        if name in columns:
            condition = sql.SQL("{} = {}").format(sql.Identifier("t", name), run_id)
            return condition, condition
    same = sql.SQL(" AND ").join(
        sql.SQL("{} = {}").format(sql.Identifier("s", name), sql.Identifier("t", name))
        for name in key
    )
    exists = sql.SQL("EXISTS (SELECT FROM {} AS s WHERE {})")
    return sql.SQL("true"), exists.format(sql.Identifier(_SCRATCH, table), same)


def _names(
    connection: Connection, table: str, row: Mapping[str, Any], key: Sequence[str]
) -> dict[str, Any]:
    """The columns that name the row; of an evaluation its case, too."""
    names = {name: row[name] for name in (*key, *_NAMING) if name in row}
    if "prompt_id" in row and table == "evaluations":
        case = connection.execute(
            "SELECT suite_id, case_id FROM prompts WHERE prompt_id = %s", (row["prompt_id"],)
        ).fetchone()
        names |= {} if case is None else dict(zip(("suite", "case"), case, strict=True))
    return names


def _parse(documents: Sequence[str], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """The rows of one key. Numbers are exact, so that 0.50 and 0.5 are equal.

    An answer may be nested as deeply as it likes: then the rows are texts beside `names`.
    """
    try:
        return [json.loads(document, parse_float=Decimal) for document in documents]
    except RecursionError:
        return [{**names, "row": document} for document in documents]


def _value_text(value: Any) -> str:
    return shortened(json.dumps(value, default=str, ensure_ascii=False), _LONGEST_VALUE)
