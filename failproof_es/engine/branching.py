"""A new run from any point of another one (specification 001 § 9).

The new run has the other's configuration and plan. What was finished at that point is
carried over by reference to its events (`carried_over`); everything else is evaluated anew,
also what had begun. To the run that it is branched from nothing is written.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID, uuid4

from failproof_es.configuration.loading import configuration_from_resolved
from failproof_es.configuration.schema import Configuration
from failproof_es.dialects import dialect_named
from failproof_es.engine.carried_over import FINAL
from failproof_es.engine.collections import read_cases
from failproof_es.engine.destinations import announce, unencrypted
from failproof_es.engine.driver import Driver
from failproof_es.engine.estimates import Estimates
from failproof_es.engine.identity import code_version, holder, package_versions, where, who
from failproof_es.engine.interpreter import OnText
from failproof_es.engine.lifecycle import prices_of
from failproof_es.engine.outcome import Outcome
from failproof_es.engine.preflight import all_of, require_gates
from failproof_es.engine.preflight_record import Passed, Resolved, Say, on_record
from failproof_es.engine.recorded import read_chunk, read_run
from failproof_es.engine.run_stream import Observe
from failproof_es.engine.targets import Targets
from failproof_es.events import (
    Branch,
    CaseSkipped,
    CasesPlanned,
    Event,
    ModelPrices,
    PricesRecorded,
    RunStarted,
)
from failproof_es.problems import InvalidInput, Problem
from failproof_es.run import Run, planned_evaluations
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
    outside of it, or when something stands against the new one, which is on record as it is
    of a run that is started; otherwise as `start` does.
    """
    with store.connect() as connection:
        source = read_run(connection, run_id)
        _require_within(connection, source, position)
    written = _resolved(source)
    configuration = configuration_from_resolved(written)
    targets = Targets(configuration)
    try:
        announce(configuration, say)
        new_id = uuid4()
        said = f"run {source.started.run_number} at position {position}"
        resolved = Resolved(said, written, source.started.configuration_digest)
        checked = partial(_check, store, source, position, configuration, targets)
        await on_record(store, new_id, resolved, targets, checked, say)
        with Lease(store.url, new_id, holder()) as lease:
            await asyncio.to_thread(lease.acquire)
            started = await asyncio.to_thread(_begin, store, new_id, source, position)
            observe(started)
            say(
                f"run {started.run_number} goes on from run {source.started.run_number} as it "
                f"stood at position {position}"
            )
            driver = Driver(
                store, lease, configuration, targets, observe=observe, on_text=on_text, stop=stop
            )
            return await driver.drive(resumed=False)
    finally:
        await targets.close()


def _resolved(source: Run) -> dict[str, Any]:
    """The other's configuration, as that of a run of its own."""
    resolved = source.started.configuration
    return {**resolved, "test_run": {**resolved["test_run"], "id": None, "timestamp": None}}


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


async def _check(
    store: Store, source: Run, position: int, configuration: Configuration, targets: Targets
) -> Passed[None]:
    """Check what a configuration that was good once needs anew: its models, its gates."""
    gates = asyncio.to_thread(require_gates, store, configuration)
    _, remarks = await all_of(gates, targets.check())
    estimates = Estimates(dialect_named(source.started.dialect), configuration, targets)
    await asyncio.to_thread(_estimate, store, source, position, estimates)
    return Passed(None, unencrypted(configuration), remarks, estimates.as_json())


def _estimate(store: Store, source: Run, position: int, estimates: Estimates) -> None:
    """Count what is left to be asked: all that was not finished at that position."""
    of = source.started
    models = [model.key for model in of.models]
    repetitions = int(of.configuration["execution"]["repetitions"])
    with store.connect() as connection:
        finals = find(connection, run_id=of.originator_id, topics=FINAL, up_to=position)
        finished = {row.stream_id for row in finals}
        for chunk in range(source.chunks):
            digests = read_chunk(connection, of.originator_id, chunk)
            for digest, case in zip(digests, read_cases(connection, digests), strict=True):
                planned = planned_evaluations(of.originator_id, [digest], models, repetitions)
                left = Counter(
                    key.model_key for key in planned if key.evaluation_id not in finished
                )
                if left:
                    estimates.add(case, left)


def _begin(store: Store, run_id: UUID, source: Run, position: int) -> RunStarted:
    """Put the new run on record with the other's whole plan, in one transaction."""
    of = source.started
    configuration = _resolved(source)
    prices = prices_of(configuration, (*of.models, *of.judges))
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
        return started, _plan(store, of.originator_id, own, prices)

    return store.begin_run(run_id, of.configuration_digest, describe)


def _plan(
    store: Store, source_id: UUID, own: dict[str, Any], prices: tuple[ModelPrices, ...]
) -> Iterator[Event]:
    """What was planned and what was left out, event by event, as the new run's own; its prices."""
    topics = (CasesPlanned.__name__, CaseSkipped.__name__)
    version = 1
    with store.connect() as connection:
        for row in find(connection, stream_id=source_id, topics=topics):
            version = row.version
            yield row.event().model_copy(update=own)
    yield PricesRecorded(**own, originator_version=version + 1, models=prices)
