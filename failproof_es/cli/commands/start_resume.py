"""`start` and `resume`: drive a run, show its progress, print its summary."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args
from uuid import UUID

import click

from failproof_es.assurance.signing.checkpoint_signer import require_continued_log
from failproof_es.cli.app.console_beside import RunConsole, console_beside
from failproof_es.cli.app.option_values import usd_argument
from failproof_es.cli.app.options import (
    allow_class_option,
    allow_option,
    connections_option,
    settings_option,
)
from failproof_es.cli.app.program import CliCommand, session
from failproof_es.cli.commands.several_workers import (
    begin_again,
    begin_planned,
    drive_locally,
    leave_to_workers,
)
from failproof_es.cli.commands.validate import print_preflight
from failproof_es.cli.progress.recorded_progress import catch_up_with
from failproof_es.cli.progress.state import ProgressState
from failproof_es.cli.progress.steps import slow_step
from failproof_es.cli.starting.all_problems import choose_and_permit, load_or_report_all
from failproof_es.cli.starting.carrying_out import PrintResults, carry_out
from failproof_es.cli.starting.drive_options import DriveOptions, drive_options
from failproof_es.cli.starting.missing_models import install_missing
from failproof_es.cli.starting.permitting import permitted_again
from failproof_es.cli.starting.selection_options import selection_options
from failproof_es.cli.starting.telemetry_beside import telemetry_beside
from failproof_es.cli.usage import WrongUsage
from failproof_es.configuration.loading import LoadedConfiguration
from failproof_es.engine.branching import branch as branch_run
from failproof_es.engine.branching import create_branch
from failproof_es.engine.drive_outcome import Outcome
from failproof_es.engine.history import read_run
from failproof_es.engine.lifecycle import create
from failproof_es.engine.lifecycle import resume as resume_run
from failproof_es.engine.lifecycle import start as start_run
from failproof_es.engine.registration import registered_plan
from failproof_es.events import Again, PlanRegistered
from failproof_es.models.trust.permissions import granted_for
from failproof_es.problems import InvalidInput
from failproof_es.store.reading.reader import max_position, resolve_run
from failproof_es.store.store import Store

if TYPE_CHECKING:
    from failproof_es.exports.otel.beside import TelemetryBeside


@click.command(cls=CliCommand)
@click.argument("config", type=click.Path(path_type=Path))
@settings_option
@selection_options
@click.option(
    "--dry-run",
    is_flag=True,
    help="Only check, as `validate` does. No case is asked, no class runs, nothing is stored.",
)
@click.option(
    "--registration",
    "registration_id",
    type=click.UUID,
    metavar="ID",
    help="Follow the plan that `failproof-es register` recorded as ID. What has changed since is "
    "recorded, and the report says it.",
)
@allow_option
@drive_options
def start(
    config: Path,
    settings: tuple[str, ...],
    dry_run: bool,
    registration_id: UUID | None,
    allow: tuple[str, ...],
    options: DriveOptions,
) -> None:
    """Start a run of the configuration CONFIG, a file or the name of a shipped one.

    Before the first case is asked, the configuration, the suites and the models are checked, as
    `validate` does. With --json the last line of stdout is one object: run_id, run_number,
    status, counts, gates, exit_code. Progress is then one JSON object a line on stderr.
    """
    loaded = load_or_report_all(config, settings, allow)
    with (
        session().open_store() as store,
        console_beside(
            store, options.console, options.console_port, open_it=options.open_it
        ) as live_console,
        telemetry_beside(store, options.otlp, options.otel_content) as telemetry,
    ):
        registered = None
        if registration_id is not None:
            with store.lend() as connection:
                registered = registered_plan(connection, registration_id)
        if dry_run:
            print_preflight(loaded, store, options.output_format, allow)
            return
        require_continued_log(store)
        begin_run(
            loaded, store, allow, options, live_console, telemetry,
            config=config, registered=registered,
        )  # fmt: skip


def begin_run(
    loaded: LoadedConfiguration,
    store: Store,
    allow: Sequence[str],
    options: DriveOptions,
    live_console: RunConsole | None,
    telemetry: TelemetryBeside | None,
    *,
    config: Path | None = None,
    print_results: PrintResults | None = None,
    registered: PlanRegistered | None = None,
) -> None:
    """Plan a run of the configuration, and drive it as `carry_out` does or leave it to workers.

    `registered` is the plan that it follows.
    """
    loaded, permissions = choose_and_permit(loaded, store, allow)
    install_missing(loaded.configuration)

    begin = begin_planned(
        partial(create, loaded, store, permissions=permissions, registered=registered)
    )
    if options.detach:
        leave_to_workers(store, begin, options.output_format)
        return

    state = ProgressState()

    def drive(**how: Any) -> Coroutine[Any, Any, Outcome]:
        if not options.quiet:
            how["on_carried_over"] = state.carry_over
        if options.workers > 1:
            granted = granted_for(loaded.configuration)
            return drive_locally(store, begin, options, granted, **how)
        how |= {"step": partial(slow_step, quiet=options.quiet), "permissions": permissions}
        return start_run(loaded, store, registered=registered, **how)

    carry_out(
        store, drive, state, options, live_console, telemetry,
        config=config, print_results=print_results,
    )  # fmt: skip


@click.command(cls=CliCommand)
@click.argument("run")
@click.option(
    "--at",
    "position",
    type=click.IntRange(min=1),
    metavar="POSITION",
    help="Start a new run from the state of RUN at this position of the log.",
)
@click.option(
    "--retry-abandoned",
    is_flag=True,
    help="Start a new run that asks again what RUN abandoned and carries over what it scored.",
)
@click.option(
    "--again",
    type=click.Choice(get_args(Again)),
    help="Start a new run that asks these evaluations of RUN again and carries over all others "
    "that were finished.",
)
@click.option(
    "--max-spend",
    type=usd_argument,
    metavar="USD",
    help="The spend ceiling of RUN from now on, in US dollars. With --at or --retry-abandoned use "
    "--set execution.max_spend_usd=USD, which is that of the new run.",
)
@connections_option
@allow_option
@allow_class_option
@drive_options
def resume(
    run: str,
    position: int | None,
    retry_abandoned: bool,
    again: Again | None,
    max_spend: Decimal | None,
    settings: tuple[str, ...],
    allow: tuple[str, ...],
    allow_class: tuple[str, ...],
    options: DriveOptions,
) -> None:
    """Resume RUN.

    A request whose answer is on record is never sent again. A request without one is
    recorded as orphaned and sent again.

    With --at, --again or --retry-abandoned, a new run begins with the configuration and the plan
    of RUN. RUN itself does not change, whether it has ended or not. The new run records which run
    it was branched from, and why.

    --at carries over the evaluations that were finished at that position. All others are
    evaluated again.

    --retry-abandoned carries over the evaluations that were scored, by now or at that position.
    It asks the abandoned ones again: those that ended without a score. It is the same as
    `--again abandoned`.

    --again errors leaves out what waits for people. --again failed asks those again whose score
    does not pass. They get another try that the others do not get, so the pass rate of the new
    run is too high: its report says so, and no gate judges its rates.

    --max-spend goes on with a run that its spend ceiling paused. It is recorded who set it.

    Whoever could write to the log may have planned RUN. What this user started before, or said yes
    to, is done again. Another class is run, and another variable sent, only after a yes: at a
    terminal you are asked, elsewhere give --allow-class and --allow.
    """
    if retry_abandoned and again not in (None, "abandoned"):
        raise WrongUsage(
            "options-conflict",
            f"--retry-abandoned means --again abandoned: give it or --again {again}",
        )
    again = "abandoned" if retry_abandoned else again
    branching = position is not None or again is not None
    if settings and not branching:
        raise InvalidInput.because(
            "options-conflict",
            "--set cannot change a run that has begun: its configuration is on record",
            remedy="with --again or --at it changes that of the new run",
        )
    if max_spend is not None and branching:
        raise InvalidInput.because(
            "options-conflict",
            "--max-spend is for RUN itself, which --at and --retry-abandoned do not change",
            remedy=f"use --set execution.max_spend_usd={max_spend}: it is that of the new run",
        )
    with (
        session().open_store() as store,
        console_beside(
            store, options.console, options.console_port, open_it=options.open_it
        ) as live_console,
        telemetry_beside(store, options.otlp, options.otel_content) as telemetry,
    ):
        require_continued_log(store)
        state = ProgressState()
        with store.lend() as connection:
            run_id = resolve_run(connection, run)
            if options.detach and not branching:
                begin = begin_again(store, run_id, max_spend)
                leave_to_workers(store, begin, options.output_format)
                return
            recorded = read_run(connection, run_id)
            if not branching:
                state.name_run(recorded.started)
                if live_console is not None:
                    live_console.show(recorded.started.run_number)
                if telemetry is not None:
                    telemetry.follow(run_id, recorded.started.run_number)

        permissions, granted = permitted_again(
            recorded, settings, allow, allow_class, branching=branching
        )
        changes: dict[str, Any] = {"again": again, "settings": settings}
        begin = (
            begin_planned(
                partial(create_branch, run_id, position, store, **changes, permissions=permissions)
            )
            if branching
            else begin_again(store, run_id, max_spend)
        )
        if options.detach:
            leave_to_workers(store, begin, options.output_format)
            return

        def catch_up() -> int:
            """Count what is recorded of the run; return the last position read.

            Nobody adds to a run that is paused, or ours; while workers elsewhere drive it, an event
            of these seconds may count twice.
            """
            with store.lend() as connection:
                position = max_position(connection)
                if not options.quiet:
                    with slow_step("counting what is recorded"):
                        catch_up_with(counted := ProgressState(), connection, run_id)
                    state.adopt(counted)
            return position

        def drive(**how: Any) -> Coroutine[Any, Any, Outcome]:
            if not options.quiet:
                how["on_carried_over"] = state.carry_over
            if options.workers > 1:
                if not branching:
                    how["catch_up"] = catch_up
                return drive_locally(store, begin, options, granted, **how)
            how["permissions"] = permissions
            if not options.quiet and not branching:
                how["on_continued"] = state.remember
            if branching:
                return branch_run(run_id, position, store, **changes, **how)
            how["leased"] = lambda lease: catch_up()
            return resume_run(run_id, store, max_spend_usd=max_spend, **how)

        resumed = None if branching else str(run_id)
        carry_out(store, drive, state, options, live_console, telemetry, resumed=resumed)
