"""Reads a run's known and possible spending from the log, so that a resumed run continues from it.

Only events of this run are read, a few at a time. A request is read only where its worst case
counts: for an answer without a known cost, an error, an orphaned attempt, or no outcome.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import islice
from typing import TypeVar
from uuid import UUID

from failproof_es.core.costs import Prices
from failproof_es.core.history_errors import ImpossibleHistory
from failproof_es.core.run import Run
from failproof_es.core.sharding.shards import PlanPart
from failproof_es.core.spend import Charge, Outcome, SpendState, charge_of, worst_case
from failproof_es.engine.unfinished import read_planned_streams
from failproof_es.events import (
    AttemptOrphaned,
    ErrorRecorded,
    Event,
    RequestSent,
    ResponseReceived,
)
from failproof_es.store.mapper import decode
from failproof_es.store.reading.reader import Connection, find
from failproof_es.store.writing.recorder import query

T = TypeVar("T")
_AT_ONCE = 500
_OUTCOMES = (ResponseReceived.__name__, ErrorRecorded.__name__, AttemptOrphaned.__name__)
_UNPRICED = Decimal(0)
_NOTHING_SPENT = SpendState()


def recorded_spending(connection: Connection, run: Run) -> SpendState:
    """The recorded spending of all requests of the run, those of a process that died included.

    A request without a known cost counts with its worst case. The caller holds the run's lease, so
    no request is in flight. Raises `ImpossibleHistory` or `UnreadableState` if the record is
    damaged.
    """
    run_id = run.started.originator_id
    outcomes = (row.event() for row in find(connection, run_id=run_id, topics=_OUTCOMES))
    waiting = connection.execute(query("requests_without_outcome"), {"run": run_id})
    return _spending(connection, run.prices or {}, outcomes, waiting)


def shard_spending(connection: Connection, run: Run, part: PlanPart) -> SpendState:
    """The recorded spending of a part of the plan, counted as in `recorded_spending`.

    The caller holds the lease of the shard. Raises `ImpossibleHistory` or `UnreadableState` if the
    record is damaged.
    """
    spending, prices = SpendState(), run.prices or {}
    for streams in read_planned_streams(connection, run, part):
        parameters = {"streams": streams, "topics": list(_OUTCOMES)}
        rows = connection.execute(query("events_of_streams"), parameters)
        outcomes = (
            decode(topic, bytes(state), stream, version) for stream, version, topic, state in rows
        )
        waiting = connection.execute(query("streams_without_outcome"), {"streams": streams})
        spending = _spending(connection, prices, outcomes, waiting, spending)
    return spending


def _spending(
    connection: Connection,
    prices: Prices,
    outcomes: Iterable[Event],
    waiting: Iterable[tuple[UUID, int]],
    spending: SpendState = _NOTHING_SPENT,
) -> SpendState:
    """`spending` plus the costs of these outcomes and of the requests in `waiting`, which have
    none. `waiting` has the stream and the version of each request."""
    for some in _batches(outcomes):
        unknown: list[Outcome] = []
        for outcome in some:
            assert isinstance(outcome, ResponseReceived | ErrorRecorded | AttemptOrphaned)
            charge = charge_of(prices, _UNPRICED, outcome)
            if charge.is_known:
                spending = spending.charging(charge)
            else:
                unknown.append(outcome)
        requests = [(outcome.originator_id, outcome.originator_version - 1) for outcome in unknown]
        for worst in _worst_cases(connection, prices, requests):
            spending = spending.charging(Charge(worst, is_known=False))
    for places in _batches((stream, version) for stream, version in waiting):
        for worst in _worst_cases(connection, prices, places):
            spending = spending.charging(Charge(worst, is_known=False))
    return spending


def _worst_cases(
    connection: Connection, prices: Prices, places: Sequence[tuple[UUID, int]]
) -> Iterator[Decimal]:
    """The worst-case costs in USD of the requests at these places, in any order.

    A place is a stream and a version; a request without a price costs 0. Raises `ImpossibleHistory`
    if a place has no request.
    """
    if not places:
        return
    streams, versions = [stream for stream, _ in places], [version for _, version in places]
    rows = connection.execute(
        query("events_at"), {"streams": streams, "versions": versions}
    ).fetchall()
    if len(rows) != len(places):
        raise ImpossibleHistory("an outcome is recorded of a request that is not")
    for stream, version, topic, state in rows:
        request = decode(topic, bytes(state), stream, version)
        if not isinstance(request, RequestSent):
            raise ImpossibleHistory("an outcome follows what is no request", request)
        worst = worst_case(prices, request)
        yield _UNPRICED if worst is None else worst


def _batches(items: Iterable[T]) -> Iterator[list[T]]:
    remaining = iter(items)
    while batch := list(islice(remaining, _AT_ONCE)):
        yield batch
