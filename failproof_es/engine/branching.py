"""A new run from any point of another one (specification 001 § 9).

The new run has the other's configuration and plan. What was finished at that point is
carried over by reference to its events (`carried_over`); everything else is evaluated anew,
also what had begun. To the run that it is branched from nothing is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from failproof_es.configuration.loading import configuration_from_resolved
from failproof_es.engine.driver import Driver, Observe
from failproof_es.engine.identity import code_version, holder, package_versions, where, who
from failproof_es.engine.interpreter import OnText
from failproof_es.engine.lifecycle import Say, prices_of
from failproof_es.engine.outcome import Outcome
from failproof_es.engine.recorded import read_run
from failproof_es.engine.targets import Targets
from failproof_es.events import Branch, CaseSkipped, CasesPlanned, Event, RunStarted
from failproof_es.problems import InvalidInput, Problem
from failproof_es.run import Run
from failproof_es.store.lease import Lease
from failproof_es.store.reader import Connection, find
from failproof_es.store.store import Store


async def branch(
    run_id: UUID,
    position: int,
    store: Store,
    *,
    observe: Observe,
    stop: asyncio.Event,
    say: Say,
    on_text: OnText | None = None,
) -> Outcome:
    """Begin a run that goes on from where another one stood at `position`, and drive it.

    The other one may be going, paused or over. Raises `InvalidInput` when the position lies
    outside of it, or when its models cannot be reached; otherwise as `start` does.
    """
    with store.connect() as connection:
        source = read_run(connection, run_id)
        _require_within(connection, source, position)
    targets = Targets(configuration_from_resolved(source.started.configuration))
    try:
        for remark in await targets.check():
            say(remark)
        new_id = uuid4()
        with Lease(store.url, new_id, holder()) as lease:
            await asyncio.to_thread(lease.acquire)
            started = await asyncio.to_thread(_begin, store, new_id, source, position)
            observe(started)
            say(
                f"run {started.run_number} goes on from run {source.started.run_number} as it "
                f"stood at position {position}"
            )
            configuration = configuration_from_resolved(started.configuration)
            driver = Driver(
                store, lease, configuration, targets, observe=observe, on_text=on_text, stop=stop
            )
            return await driver.drive(resumed=False)
    finally:
        await targets.close()


def _require_within(connection: Connection, source: Run, position: int) -> None:
    """Raise `InvalidInput` unless the run had begun by then and had not said its last word."""
    number = source.started.run_number
    row = connection.execute(
        "SELECT min(notification_id), max(notification_id) FROM failproof.stored_events "
        "WHERE run_id = %s",
        (source.started.originator_id,),
    ).fetchone()
    assert row is not None
    first, last = row
    if not first <= position <= last:
        side = "before" if position < first else "beyond"
        said = (
            f"position {position} lies {side} run {number}, which stands at positions {first} to "
            f"{last} of the log"
        )
        remedy = f"`failproof-es log {number}` shows what happened at each of them"
        raise InvalidInput([Problem(said, field="--at", remedy=remedy)])


def _begin(store: Store, run_id: UUID, source: Run, position: int) -> RunStarted:
    """Put the new run on record with the other's whole plan, in one transaction."""
    of = source.started
    configuration = {
        **of.configuration,
        "test_run": {**of.configuration["test_run"], "id": None, "timestamp": None},
    }
    own: dict[str, Any] = {
        "originator_id": run_id,
        "run_id": run_id,
        "timestamp": datetime.now(UTC),
    }

    def describe(number: int, attempt: int) -> tuple[RunStarted, Iterator[Event]]:
        started = of.model_copy(
            update={
                **own,
                "run_number": number,
                "attempt": attempt,
                "configuration": configuration,
                "code_version": code_version(),
                "packages": package_versions(),
                "who": who(),
                "where": where(),
                "branched_from": Branch(run_id=of.originator_id, position=position),
            }
        )
        return started, _plan(store, of.originator_id, own)

    started = store.begin_run(run_id, of.configuration_digest, describe)
    store.record_prices(run_id, prices_of(started))
    return started


def _plan(store: Store, source_id: UUID, own: dict[str, Any]) -> Iterator[Event]:
    """What was planned and what was left out, event by event, as the new run's own."""
    topics = (CasesPlanned.__name__, CaseSkipped.__name__)
    with store.connect() as connection:
        for row in find(connection, stream_id=source_id, topics=topics):
            yield row.event().model_copy(update=own)
