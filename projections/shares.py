"""Builds projections from shares of the log in several processes: the shares, and applying one.

A stream is always in one share, so that its events are applied in order. Cases come first, then
everything that is neither a case nor an evaluation, then evaluations: by then the rows of an
evaluation's case and run exist, and positions decide whether the evaluation counts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from typing import Any, LiteralString
from uuid import UUID

import psycopg
from psycopg import sql

from failproof_es.events import topics
from projections.batch import Share, read_share, take_in
from projections.protocol import Fact, Projection, sql_file, topics_of
from projections.relations import BUILDING, enter

Connection = psycopg.Connection[Any]

CASES = tuple(topics("prompt"))
EVALUATIONS = tuple(topics("evaluation"))


class OutOfPlace(Exception):
    """The log cannot be applied in shares: a stream holds events that belong in another one."""


class ForeignTables(Exception):
    """The tables being built belong to another rebuild than this share's."""


def shares_of(kinds: Sequence[str], count: int, up_to: int) -> list[Share]:
    """All streams of these kinds, in `count` shares of about the same size, as ids are hashes.

    `kinds` are topics. The shares have the events up to the position `up_to`, included.
    """
    ends = [(1 << 128) * place // count for place in range(count + 1)]
    return [
        Share(tuple(kinds), True, UUID(int=first), UUID(int=end - 1), up_to)
        for first, end in pairwise(ends)
    ]


def the_rest(up_to: int) -> Share:
    """The share of all streams that are neither a case's nor an evaluation's.

    It has the events up to the position `up_to`, included.
    """
    return Share((*CASES, *EVALUATIONS), False, UUID(int=0), UUID(int=(1 << 128) - 1), up_to)


def building_id(connection: Connection, projections: Sequence[Projection]) -> int:
    """The id of the tables being built, which differs for each rebuild.

    Locks them, so that they stay until the transaction ends. Raises `psycopg.errors.UndefinedTable`
    if there are none.
    """
    table = min(
        relation.name for p in projections for relation in p.relations if relation.kind == "TABLE"
    )
    name = sql.Identifier(BUILDING, table)
    connection.execute(sql.SQL("LOCK TABLE {} IN ROW EXCLUSIVE MODE").format(name))
    row = connection.execute("SELECT %s::regclass::oid", (f"{BUILDING}.{table}",)).fetchone()
    assert row is not None
    return int(row[0])


def take_share(
    connection: Connection,
    projections: Sequence[Projection],
    share: Share,
    building: int,
    progress: Callable[[int], None],
) -> int:
    """Apply a whole share, batch by batch; return its number of events.

    `progress` is called with the position after each batch. Raises `OutOfPlace` if a stream holds
    events of another kind, and `ForeignTables` if the tables being built are not those of the id
    `building`: another rebuild has begun, because the process that began this one is gone.
    """
    topics = topics_of(projections)
    nowhere = dict.fromkeys([projection.name for projection in projections], 0)
    position = events = 0
    while True:
        with connection.transaction():
            connection.execute(sql_file("become_projector"))
            try:
                ours = building_id(connection, projections) == building
            except psycopg.errors.UndefinedTable:
                ours = False
            if not ours:
                raise ForeignTables
            batch = read_share(connection, position, share, topics)
            if batch is None:
                return events
            _require_own_streams(connection, share, batch.facts)
            enter(connection, BUILDING)
            take_in(connection, projections, nowhere, batch, in_order=False)
        position = batch.position
        events += batch.events
        progress(position)


def _require_own_streams(connection: Connection, share: Share, facts: Sequence[Fact]) -> None:
    """Raise `OutOfPlace` if one of these events is in a stream of another kind."""
    if share.among:
        firsts: dict[str, int] = {}
        for fact in facts:
            firsts.setdefault(fact.stream_id, fact.version)
        going_on = [stream for stream, version in firsts.items() if version != 1]
        if going_on and _count(connection, "streams_begun", going_on, share.kinds) < len(going_on):
            raise OutOfPlace
    else:
        streams = list({fact.stream_id for fact in facts})
        if streams and _count(connection, "streams_with_kinds", streams, share.kinds):
            raise OutOfPlace


def _count(
    connection: Connection, query: LiteralString, streams: list[str], kinds: Collection[str]
) -> int:
    row = connection.execute(sql_file(query), (streams, list(kinds))).fetchone()
    return 0 if row is None else int(row[0])
