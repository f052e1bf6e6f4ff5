"""Removes archived runs from the read models, and restores them when they are attached.

So the rows are the same whether the log was followed, or rebuilt after the events of an archived
run were removed from it. This applies to projections that have `forget_run`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, runtime_checkable
from uuid import UUID

import psycopg

from failproof_es.core.case import operations_id
from failproof_es.events import RunArchived, RunAttached
from failproof_es.store.reading.archives import archived_runs
from projections.protocol import Cursor, Fact, Projection

ARCHIVING = frozenset({RunArchived.__name__, RunAttached.__name__})

ReadRun = Callable[[Projection, UUID, int], Iterator[Sequence[Fact]]]
"""Reads a run's events before a position, batch by batch, for a projection's topics."""


@runtime_checkable
class Forgetful(Protocol):
    """A projection whose rows of archived runs are removed, and restored."""

    keeps_own_stream: bool
    """Whether rows from the run's own stream stay, so that only its evaluations are restored."""

    def forget_run(self, cursor: Cursor, run_id: UUID) -> None:
        """Delete the rows that came from events of the run's evaluations. May be repeated."""


def apply_in_parts(
    cursor: Cursor, projection: Projection, facts: Sequence[Fact], read_run: ReadRun
) -> None:
    """Apply these facts; if they archive or attach a run, remove or restore its rows.

    `read_run` reads an attached run's events, batch by batch.
    """
    if not isinstance(projection, Forgetful) or ARCHIVING.isdisjoint([f.topic for f in facts]):
        projection.apply(cursor, facts)
        return
    begin = 0
    for place, fact in enumerate(facts, 1):
        event = fact.event
        if not isinstance(event, RunArchived | RunAttached):
            continue
        if event.originator_id != operations_id(event.about):
            continue  # it is in the operations stream of another run: ignored
        projection.apply(cursor, facts[begin:place])
        begin = place
        projection.forget_run(cursor, event.about)
        if isinstance(event, RunAttached):
            for part in read_run(projection, event.about, fact.position):
                projection.apply(cursor, part)
    if begin < len(facts):
        projection.apply(cursor, facts[begin:])


def forget_archived(
    connection: psycopg.Connection[Any], cursor: Cursor, projections: Sequence[Projection]
) -> None:
    """Remove the rows of archived runs after a rebuild in shares, which applied the whole log."""
    forgetful = [projection for projection in projections if isinstance(projection, Forgetful)]
    for run_id in archived_runs(connection) if forgetful else ():
        for projection in forgetful:
            projection.forget_run(cursor, run_id)
