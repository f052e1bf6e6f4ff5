"""`give-up`: ends a paused run for good, and seals it."""

from __future__ import annotations

from uuid import UUID

import click

from failproof_es.cli.app.following import exit_if_changed, signed_and_followed
from failproof_es.cli.app.program import CliCommand, session
from failproof_es.cli.rendering.output import Format, format_option, print_json, say
from failproof_es.core.run import Run
from failproof_es.engine.workers.ending import coordinating
from failproof_es.store.reading.reader import resolve_run
from failproof_es.store.store import Store
from failproof_es.support import event_loop


@click.command("give-up", cls=CliCommand)
@click.argument("run")
@click.option(
    "--reason", metavar="TEXT", default="given up", show_default=True, help="Why, for the record."
)
@format_option(Format.TABLE, Format.JSON)
def give_up(run: str, reason: str, output_format: Format) -> None:
    """Give a paused RUN up for good.

    Nothing of it is asked any more, by `resume` or by workers. What was recorded stays, and the
    run is sealed. `resume RUN --again errors` can still begin a new run that carries over what it
    finished. Refused while a process drives the run, and if the run has ended.
    """
    with session().open_store() as store, signed_and_followed(store) as signer:
        with store.lend() as connection:
            run_id = resolve_run(connection, run)
        ended = event_loop.run(_give_up(store, run_id, reason))
    counts = ended.counts
    number = ended.started.run_number
    if output_format is not Format.TABLE:
        fields = {"run_id": str(run_id), "run_number": number, "status": ended.status}
        print_json({**fields, "counts": None if counts is None else counts.model_dump()})
    elif counts is not None:
        say(f"run {number} is given up: {counts.finished:,} of {counts.planned:,} finished")
    exit_if_changed(signer)


async def _give_up(store: Store, run_id: UUID, reason: str) -> Run:
    async with coordinating(store) as coordinator:
        return await coordinator.give_up(run_id, reason)
