"""Updates projections from the log, and rebuilds them.

A projection's position is updated in the transaction that writes its rows, so the two agree even
after a crash. Several processes may follow at once; a lock makes them take turns.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, LiteralString, TypeVar

import psycopg
from tenacity import Retrying, retry_if_exception_type, stop_after_delay
from tenacity.wait import wait_random

from failproof_es.problems import InvalidInput
from failproof_es.store.outage import CONTENTION
from failproof_es.store.reading.reader import max_position
from projections import PROJECTIONS, Projection
from projections.batch import read_batch, take_in
from projections.parallel_rebuild import build_in_shares
from projections.positions import (
    Position,
    create_positions,
    move_positions,
    read_positions,
)
from projections.protocol import sql_file, topics_of
from projections.relations import (
    BUILDING,
    LIVE,
    begin_building,
    create,
    create_schemas,
    discard_building,
    enter,
    is_whole,
    refuse_dependents,
    replace,
)

Connection = psycopg.Connection[Any]
T = TypeVar("T")

_LOCK: LiteralString = "SELECT pg_advisory_xact_lock(hashtextextended('failproof.projections', 0))"
"""Held until the transaction ends."""
_LOCK_REBUILD: LiteralString = (
    "SELECT pg_advisory_lock(hashtextextended('failproof.projections.rebuild', 0))"
)
_UNLOCK_REBUILD: LiteralString = (
    "SELECT pg_advisory_unlock(hashtextextended('failproof.projections.rebuild', 0))"
)
SWAP_WITHIN_S = 120.0
"""Seconds for which a swap tries to find a moment without a reader."""
COLLECT_SELDOM = (200_000, 20, 100)
"""Thresholds of `gc`: parsed events hold no cycles, so collecting often wastes time."""


class OutdatedProjection(RuntimeError):
    """The tables were written by another version of the projection than this program has."""


class UnknownProjection(LookupError):
    """There is no projection of that name."""

    def __init__(self, name: str, projections: Sequence[Projection]) -> None:
        names = ", ".join(projection.name for projection in projections)
        super().__init__(f"there is no projection {name!r}; there are: {names}")


@dataclass(frozen=True, slots=True)
class ProjectionStatus:
    """The position of a projection. `behind` counts positions of the log, not wanted events."""

    name: str
    version: int
    position: int
    behind: int
    updated_at: datetime | None
    outdated: bool
    """Whether another version of the projection wrote its rows: the next run rebuilds them."""


def status(
    connection: Connection, projections: Sequence[Projection] = PROJECTIONS
) -> list[ProjectionStatus]:
    """The status of each of these projections, in order. Writes nothing.

    A projection without its tables is at position 0.
    """
    head = max_position(connection)
    positions = read_positions(connection)
    statuses = []
    for projection in projections:
        position = positions.get(projection.name)
        if position is None or not is_whole(connection, projection):
            nothing = ProjectionStatus(projection.name, projection.version, 0, head, None, False)
            statuses.append(nothing)
            continue
        statuses.append(
            ProjectionStatus(
                projection.name,
                position.version,
                position.position,
                max(0, head - position.position),
                position.updated_at,
                position.version != projection.version,
            )
        )
    return statuses


def prepare(connection: Connection, projections: Sequence[Projection] = PROJECTIONS) -> None:
    """Create missing tables, whose projections begin at position 0; rebuild outdated projections.

    Raises `InvalidInput` if tables cannot be replaced: other objects depend on them, or they are
    read without a pause.
    """
    create_schemas(connection)
    outdated = _between_readers(partial(_create_missing, connection, projections))
    if outdated:
        rebuild(connection, outdated, projections=projections)


def _create_missing(connection: Connection, projections: Sequence[Projection]) -> list[str]:
    """Create missing tables; return the names of projections whose rows another version wrote."""
    with _as_projector(connection):
        connection.execute(_LOCK)
        create_positions(connection)
        positions = read_positions(connection)
        outdated = []
        for projection in projections:
            position = positions.get(projection.name)
            if position is not None and position.version != projection.version:
                outdated.append(projection.name)
            elif position is None or not is_whole(connection, projection):
                create(connection, projection)
                move_positions(connection, [projection], 0)
    return outdated


def _between_readers(swap: Callable[[], T]) -> T:
    """Call `swap`, again and again while readers block it; return its result.

    Raises `InvalidInput` after `SWAP_WITHIN_S`.
    """
    retrying = Retrying(
        retry=retry_if_exception_type(CONTENTION),
        wait=wait_random(0.05, 0.5),
        stop=stop_after_delay(SWAP_WITHIN_S),
        reraise=True,
    )
    try:
        return retrying(swap)
    except CONTENTION as error:
        raise InvalidInput.because(
            "database-busy",
            f"the tables of the projections are read without a pause for {SWAP_WITHIN_S:g} s, so "
            f"they cannot be replaced: {error}",
            remedy="end the transactions that read them (`pg_stat_activity`), and rebuild again",
        ) from error


def reached(connection: Connection, projections: Sequence[Projection]) -> int:
    """The position up to which all of these projections have read the log. Writes nothing.

    0 if one has no tables. Raises `OutdatedProjection` if another version wrote the rows of one.
    """
    positions = read_positions(connection)
    return min(_require_position(projection, positions) for projection in projections)


def catch_up(connection: Connection, projections: Sequence[Projection] = PROJECTIONS) -> int:
    """Apply the next batch, in one transaction; return its number of events, 0 at the log's end.

    Raises `OutdatedProjection` if another version of this program rebuilt the tables.
    """
    with _as_projector(connection):
        connection.execute(_LOCK)
        stored_positions = read_positions(connection)
        positions = {p.name: _require_position(p, stored_positions) for p in projections}
        batch = read_batch(connection, min(positions.values()), topics_of(projections))
        if batch is None:
            return 0
        enter(connection, LIVE)
        take_in(connection, projections, positions, batch)
        behind = [p for p in projections if positions[p.name] < batch.position]
        move_positions(connection, behind, batch.position)
    return batch.events


def rebuild(
    connection: Connection,
    names: Sequence[str] = (),
    *,
    progress: Callable[[int, int], None] | None = None,
    projections: Sequence[Projection] = PROJECTIONS,
    processes: int | None = None,
) -> int:
    """Rebuild the named projections (default: all) next to the live tables, and swap them.

    Readers see the old rows until one transaction replaces them by the new, under the same grants.
    If interrupted, it leaves the live tables unchanged. `progress` is called with the position
    reached and the newest one. `processes` (default: at most one for each core) apply a long log,
    projections of other packages in this process alone. Returns the position of the swapped tables.
    Raises `UnknownProjection`, and `InvalidInput` if foreign views depend on the tables.
    """
    selected = _choose_projections(names, projections)
    with _rebuild_lock(connection), _collecting_seldom():
        return _rebuild(connection, selected, progress, processes)


def _rebuild(
    connection: Connection,
    projections: Sequence[Projection],
    progress: Callable[[int, int], None] | None,
    processes: int | None,
) -> int:
    create_schemas(connection)
    _begin_building(connection, projections)
    position = build_in_shares(connection, projections, progress, processes)
    if position is None:
        _begin_building(connection, projections)
        position = 0
    topics = topics_of(projections)
    while True:
        head = max_position(connection)
        with _as_projector(connection):
            batch = read_batch(connection, position, topics)
            if batch is not None:
                enter(connection, BUILDING)
                take_in(connection, projections, {p.name: position for p in projections}, batch)
        if batch is not None:
            position = batch.position
            if progress is not None:
                progress(position, head)
        elif _between_readers(partial(_try_swap, connection, projections, position)):
            return position


def _try_swap(connection: Connection, projections: Sequence[Projection], position: int) -> bool:
    """Replace the live tables by those built up to `position`; false, and no change, if the log has
    further events."""
    with _as_projector(connection):
        connection.execute(_LOCK)
        if read_batch(connection, position, topics_of(projections)) is not None:
            return False
        replace(connection, projections)
        move_positions(connection, projections, position)
    return True


def _begin_building(connection: Connection, projections: Sequence[Projection]) -> None:
    with _as_projector(connection):
        connection.execute(_LOCK)
        create_positions(connection)
        refuse_dependents(connection, projections)
        begin_building(connection, projections)


@contextmanager
def _as_projector(connection: Connection) -> Iterator[None]:
    """A transaction as the role `failproof_projector`, if the read models belong to that role."""
    with connection.transaction():
        connection.execute(sql_file("become_projector"))
        yield


@contextmanager
def _rebuild_lock(connection: Connection) -> Iterator[None]:
    """Hold the lock of rebuilds, which share one schema for building.

    A rebuild that fails removes its tables there, if the connection still works; otherwise the next
    rebuild does. The error of the failure is raised.
    """
    connection.execute(_LOCK_REBUILD)
    try:
        yield
    except BaseException:
        _discard_unfinished(connection)
        raise
    connection.execute(_UNLOCK_REBUILD)


def _discard_unfinished(connection: Connection) -> None:
    if connection.closed:  # it has released its locks
        return
    try:
        with _as_projector(connection):
            discard_building(connection)
        connection.execute(_UNLOCK_REBUILD)
    except psycopg.Error:  # after a second interruption, the connection's state is unknown
        connection.close()


@contextmanager
def _collecting_seldom() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*COLLECT_SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _choose_projections(
    names: Sequence[str], projections: Sequence[Projection]
) -> list[Projection]:
    known_names = {projection.name for projection in projections}
    for name in names:
        if name not in known_names:
            raise UnknownProjection(name, projections)
    return [projection for projection in projections if not names or projection.name in names]


def _require_position(projection: Projection, positions: Mapping[str, Position]) -> int:
    position = positions.get(projection.name)
    if position is None:
        return 0
    if position.version != projection.version:
        raise OutdatedProjection(
            f"{projection.name}: its tables are of version {position.version}, this program writes "
            f"version {projection.version}"
        )
    return position.position
