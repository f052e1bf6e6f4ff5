"""Runs that are archived leave the read models, and come back when they are attached.

So the rows are what the log says, however they came about: followed, or rebuilt from a log out of
which the events of an archived run were taken. A projection that has `forget_run` takes part.
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
"""What the log holds of a run before a position, batch by batch, as the projection wants it."""


@runtime_checkable
class Forgetful(Protocol):
    """A projection whose rows of archived runs go, and come back."""

    keeps_own_stream: bool
    """Whether what the run's own stream says stays: then its evaluations alone come back."""

    def forget_run(self, cursor: Cursor, run_id: UUID) -> None:
        """Remove what events of the run's evaluations gave; idempotent."""


def apply_in_parts(
    cursor: Cursor, projection: Projection, facts: Sequence[Fact], read_run: ReadRun
) -> None:
    """Let it take in these facts; a run that is archived or attached among them goes or comes."""
    if not isinstance(projection, Forgetful) or ARCHIVING.isdisjoint([f.topic for f in facts]):
        projection.apply(cursor, facts)
        return
    begin = 0
    for place, fact in enumerate(facts, 1):
        event = fact.event
        if not isinstance(event, RunArchived | RunAttached):
            continue
        if event.originator_id != operations_id(event.about):
            continue  # it stands beside another run, and says nothing of this one
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
    """After a rebuild in shares, which took in what the log holds: archived runs go."""
    forgetful = [projection for projection in projections if isinstance(projection, Forgetful)]
    for run_id in archived_runs(connection) if forgetful else ():
        for projection in forgetful:
            projection.forget_run(cursor, run_id)
