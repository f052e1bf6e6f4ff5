"""The part of `start` and `resume` for several workers, which a single process never loads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from decimal import Decimal
from typing import Any
from uuid import UUID

from failproof_es.cli.rendering.output import Format, print_json, say
from failproof_es.cli.starting.drive_options import DriveOptions
from failproof_es.engine.drive_outcome import Outcome
from failproof_es.events import RunStarted
from failproof_es.models.trust.permissions import Permissions
from failproof_es.store.store import Store
from failproof_es.support import event_loop

Begin = Callable[[Callable[[str], None]], Coroutine[Any, Any, UUID]]
"""Begins or resumes a run for workers, and passes remarks to its argument; returns the run's id."""


def begin_planned(create: Callable[..., Awaitable[RunStarted]]) -> Begin:
    """A function that plans the run that `create` creates, with a job for each of its shards.

    `create` is `lifecycle.create` or `branching.create_branch` with all arguments but two.
    """

    async def begin(say: Callable[[str], None]) -> UUID:
        from failproof_es.engine.workers.shard_queue import begin_for_workers

        return (await create(say=say, also=begin_for_workers)).originator_id

    return begin


def begin_again(store: Store, run_id: UUID, max_spend_usd: Decimal | None) -> Begin:
    """A function that resumes a run for workers, with a job for each unfinished shard.

    `max_spend_usd` is the run's spend ceiling from now on; `None` leaves it.
    """

    async def begin(say: Callable[[str], None]) -> UUID:
        from failproof_es.engine.workers.ending import coordinating

        async with coordinating(store) as coordinator:
            run = await coordinator.resume(run_id, max_spend_usd)
        if run.ended and run.sealed:
            say(f"run {run.started.run_number} has ended: {run.status}; nothing was sent")
        return run_id

    return begin


def drive_locally(
    store: Store,
    begin: Begin,
    options: DriveOptions,
    granted: Permissions,
    *,
    catch_up: Callable[[], int] = lambda: 0,
    **how: Any,
) -> Coroutine[Any, Any, Outcome]:
    """Drive the run that `begin` begins with as many processes of this host as `options` say.

    `granted` are the permissions of its configuration there. `catch_up` counts what was recorded
    before the run begins, and returns the last position that it read. `how` is as for
    `LocalWorkers.drive`.
    """
    from failproof_es.cli.commands.local_workers import LocalWorkers

    count, shows_progress = options.workers, not options.quiet
    return LocalWorkers(store, count, begin, granted, shows_progress, catch_up).drive(**how)


def leave_to_workers(store: Store, begin: Begin, output_format: Format) -> None:
    """Begin the run, leave it to workers, and print its id and number.

    The plan is signed here: this host makes the key of a log that was never signed, and workers
    make none.
    """
    from failproof_es.assurance.signing.checkpoint_signer import CheckpointSigner
    from failproof_es.cli.app.following import exit_if_changed, report_signing_error
    from failproof_es.configuration.recorded import recorded_configuration
    from failproof_es.engine.history import read_run
    from failproof_es.engine.workers.shard_queue import usable_queue

    usable_queue(store)
    with CheckpointSigner(store) as keeper:
        run_id = event_loop.run(begin(say))
    report_signing_error(keeper)
    with store.lend() as connection:
        run = read_run(connection, run_id)
    number = run.started.run_number
    if not run.ended:
        say(f"run {number} waits for workers: `failproof-es worker --run {number} --drain` is one")
        if (file := recorded_configuration(run.started).output.file) is not None and file.enabled:
            say(
                "workers write no results file: once the run is over, `failproof-es resume "
                f"{number}` writes it, and asks nothing"
            )
    if output_format is not Format.TABLE:
        print_json({"run_id": str(run_id), "run_number": number, "status": run.status})
    exit_if_changed(keeper)
