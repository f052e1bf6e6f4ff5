"""Carries out a run at a terminal: drives it, writes its files, prints its results."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import click

from failproof_es.assurance.signing.checkpoint_signer import CheckpointSigner
from failproof_es.cli.app.chosen_run import with_warning
from failproof_es.cli.app.console_beside import RunConsole
from failproof_es.cli.app.errors import ExitCode, exit_code_of, note_run
from failproof_es.cli.app.following import following, report_signing_error
from failproof_es.cli.app.process import at_a_terminal, ignore_broken_pipe, raise_descriptor_limit
from failproof_es.cli.app.run_end import (
    print_outcome,
    say_gates_not_met,
    say_what_next,
    say_worst,
    summary,
    write_files,
)
from failproof_es.cli.app.stopping import Drive, until_stopped
from failproof_es.cli.progress.display import progress_for
from failproof_es.cli.progress.recorded_progress import recorded_prices
from failproof_es.cli.progress.state import ProgressState
from failproof_es.cli.progress.steps import slow_step
from failproof_es.cli.rendering.output import Format, print_json, say
from failproof_es.cli.rendering.partial_results import PartialResultsWriter
from failproof_es.cli.rendering.protection import print_differences
from failproof_es.core.summary import RunSummary
from failproof_es.events import Event, RunStarted
from failproof_es.reading.failure_reasons import FailureReasons, failure_reasons
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.store.outage import OutageReport
from failproof_es.store.schema.definitions import differences
from failproof_es.store.store import Store
from failproof_es.store.url_redaction import redact_message
from failproof_es.support import event_loop

if TYPE_CHECKING:
    from failproof_es.cli.starting.drive_options import DriveOptions
    from failproof_es.exports.otel.beside import TelemetryBeside

PrintResults = Callable[[UUID], None]
"""Prints the results of the run with this id."""


def carry_out(
    store: Store,
    drive: Drive,
    state: ProgressState,
    options: DriveOptions,
    live_console: RunConsole | None,
    telemetry: TelemetryBeside | None,
    *,
    resumed: str | None = None,
    config: Path | None = None,
    print_results: PrintResults | None = None,
) -> None:
    """Drive the run, write its files, print the results, and exit with the run's exit code.

    `resumed` is the id of a resumed run, `config` the configuration of a new one. `print_results`
    prints the results of another kind of run, in place of the summary and of hints. The files are
    on record before the follower and the signer end: nothing is appended after the last catch-up of
    the projections and the last checkpoint.
    """
    raise_descriptor_limit()
    with store.lend() as connection:
        print_differences(difference.what for difference in differences(connection))
    state.outage = store.outage_report = OutageReport(lambda line: say(redact_message(line)))
    quiet, as_json = options.quiet, options.output_format is not Format.TABLE
    progress = progress_for(state, quiet=quiet, as_json=as_json, verbose=options.verbose)
    with (
        ExitStack() as after_signing,
        ExitStack() as ending,
        CheckpointSigner(store) as keeper,
        following(store),
    ):
        partial_results = PartialResultsWriter(store)

        def observe(event: Event) -> None:
            state.observe(event)
            partial_results.observe(event)
            if isinstance(event, RunStarted) and live_console is not None:
                live_console.show(event.run_number)
            if isinstance(event, RunStarted) and telemetry is not None:
                telemetry.follow(event.originator_id, event.run_number)
            if isinstance(event, RunStarted) and not quiet:
                for recorded in recorded_prices(store, event):
                    state.observe(recorded)

        def current_run() -> str | None:
            return resumed if state.run_number is None else str(state.run_number)

        try:
            with partial_results:
                outcome = event_loop.run(until_stopped(drive, observe, progress, current_run))
        except Exception as error:
            if (run_name := current_run()) is not None:
                note_run(error, run_name)
            raise
        after_signing.callback(report_signing_error, keeper)  # also if the results are unreadable
        counted_up, failures, is_written = _write_results(store, outcome.run_id, options)
        ending.enter_context(slow_step("bringing the projections up to date", quiet=quiet))
    exit_code = exit_code_of(outcome)
    if keeper.changed is not None or not is_written:
        exit_code = ExitCode.FAILED
    with ignore_broken_pipe():
        if print_results is not None:
            print_results(outcome.run_id)
        elif not as_json:
            print_outcome(outcome, counted_up, failures)
    if outcome.reason:  # the reason of a stop is no hint: --quiet keeps it
        say(f"run {outcome.run_number} {outcome.status}: {outcome.reason}")
    if not quiet and (print_results is None or outcome.status != "completed"):
        if as_json:
            say_worst(failures)
        say_what_next(counted_up, outcome.status, config)
    say_gates_not_met(outcome, exit_code)
    if as_json and print_results is None:
        with ignore_broken_pipe():
            print_json(summary(outcome, exit_code))
    is_interactive = not quiet and not as_json and at_a_terminal()
    if live_console is not None and is_interactive and not outcome.interrupted:
        live_console.stay()
    click.get_current_context().exit(exit_code)


def _write_results(
    store: Store, run_id: UUID, options: DriveOptions
) -> tuple[RunSummary, FailureReasons, bool]:
    """Write the run's files, JUnit XML as well if it was asked for.

    Returns its summary, the reasons of its failures, and whether all are written.
    """
    with store.lend() as connection:
        with slow_step("counting the results", quiet=options.quiet):
            run = with_warning(RecordedRun.read(connection, run_id))
            counted_up, failures = run.summary, failure_reasons(run)
        with slow_step("writing the results", quiet=options.quiet):
            is_written = write_files(store, run, options.junit, options.quiet)
    return counted_up, failures, is_written
