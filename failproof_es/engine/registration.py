"""Registers the plan of a run before the run, and finds registered plans."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from uuid import UUID, uuid4

from failproof_es.configuration.loading import LoadedConfiguration
from failproof_es.core.case import operations_id
from failproof_es.core.registration import changed_parts
from failproof_es.engine.operations import operations_of, record_operations
from failproof_es.engine.planned_run import own_targets, plan_facts, plan_run
from failproof_es.engine.preflight.record import Say, Step, open_models
from failproof_es.events import PlanRegistered, Registration, RunStarted
from failproof_es.models.trust.permissions import OWN, Permissions
from failproof_es.problems import InvalidInput
from failproof_es.store.reading.reader import Connection, find
from failproof_es.store.store import Store
from failproof_es.support.plurals import plural


async def register(
    loaded: LoadedConfiguration,
    store: Store,
    *,
    runs: int,
    say: Say,
    step: Step = nullcontext,
    permissions: Permissions = OWN,
) -> PlanRegistered:
    """Check the configuration as `start` does and record its plan; return that event.

    At most `runs` runs may follow the plan. No case is asked. Raises `InvalidInput` as `start`
    does.
    """
    targets = own_targets(loaded, permissions)
    registration_id = uuid4()
    try:
        dialect, plan = await plan_run(loaded, store, registration_id, targets, say, step)
        await open_models(store, registration_id, targets)
        if plan.reuse is not None:
            raise registration_with_reuse()
        facts = plan_facts(loaded, dialect, targets, plan)
    finally:
        await targets.close()
    fields = {**facts, "runs": runs, "cases": plan.planned_cases.set_digest()}
    await asyncio.to_thread(record_operations, store, registration_id, [(PlanRegistered, fields)])
    with store.lend() as connection:
        return registered_plan(connection, registration_id)


def registered_plan(connection: Connection, registration_id: UUID) -> PlanRegistered:
    """The registered plan with this id. Raises `InvalidInput` if there is none."""
    for event in operations_of(connection, registration_id, PlanRegistered):
        return event
    raise InvalidInput.because(
        "unknown-registration",
        f"no plan is registered as {registration_id}",
        remedy="`failproof-es register CONFIG` registers one, and prints its id",
    )


def position_of(connection: Connection, registered: PlanRegistered) -> int:
    """The position of the event in the log."""
    stream, topics = operations_id(registered.about), [PlanRegistered.__name__]
    return next(row.position for row in find(connection, stream_id=stream, topics=topics))


def registration_of(registered: PlanRegistered, started: RunStarted, cases: str) -> Registration:
    """The registration that the run records; `started` is its first event without it.

    `cases` is the `set_digest` of its whole cases.
    """
    return Registration(
        registration_id=registered.about,
        registered_at=registered.timestamp,
        runs=registered.runs,
        changed=changed_parts(
            registered.model_dump(mode="json"), started.model_dump(mode="json"), cases
        ),
    )


def require_run_left(connection: Connection, registered: PlanRegistered, run_id: UUID) -> None:
    """Raise `InvalidInput` if all registered runs have begun, without counting the run `run_id`.

    Call it under the lock for numbering runs.
    """
    followed = 0
    after = position_of(connection, registered)
    for row in find(connection, topics=[RunStarted.__name__], after=after):
        event = row.event()
        if (
            isinstance(event, RunStarted)
            and event.run_id != run_id
            and event.registration is not None
            and event.registration.registration_id == registered.about
        ):
            followed += 1
    if followed >= registered.runs:
        raise InvalidInput.because(
            "registration-used",
            f"the plan {registered.about} is registered for {plural(registered.runs, 'run')}, "
            f"and {followed} began",
            remedy="register a plan for the further runs, or start without --registration",
        )


def registration_with_reuse() -> InvalidInput:
    """The error of a plan with answers that are older than it."""
    return InvalidInput.because(
        "registration-with-reuse",
        "a run that reuses recorded answers follows no plan: they are older than the plan",
        remedy="leave out --reuse and `reuse`, or --registration",
    )
