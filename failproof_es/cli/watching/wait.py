"""`wait`: waits until a run is over; its exit code is that of the run."""

from __future__ import annotations

import time

import click

from failproof_es.cli.app.errors import ExitCode, exit_code_of
from failproof_es.cli.app.options import FiniteRange
from failproof_es.cli.app.program import CliCommand, session
from failproof_es.cli.app.run_end import say_gates_not_met, say_worst, summary
from failproof_es.cli.rendering.output import Format, format_option, print_json, say
from failproof_es.core.run import Run
from failproof_es.engine.drive_outcome import Outcome
from failproof_es.engine.history import read_run
from failproof_es.engine.workers.presence import Undriven, undriven_runs
from failproof_es.gate_words import gate_line
from failproof_es.reading.failure_reasons import NO_FAILURES, FailureReasons, failure_reasons
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.store.reading.archives import RunIsArchived
from failproof_es.store.reading.reader import resolve_run

_LOOK_EVERY_S = 1.0


@click.command(cls=CliCommand)
@click.argument("run")
@click.option(
    "--timeout",
    type=FiniteRange(min=0),
    metavar="SECONDS",
    help="Wait no longer; then exit 124.",
)
@format_option()
def wait(run: str, timeout: float | None, output_format: Format) -> None:
    """Wait until RUN is over or paused, wherever it is driven. Nothing is asked.

    The exit code is that of `start`: 0 if all gates are met, 3 if one is not, 1 if the run failed
    or is paused; 124 if --timeout ended first. So a pipeline can leave a run to workers: `start
    --detach`, then `wait`. If nobody drives the run, that is said on stderr. The tables of the
    projections hold the run by then.
    """
    with session().open_store() as store:
        with store.lend() as connection:
            run_id = resolve_run(connection, run)
        until = None if timeout is None else time.monotonic() + timeout

        reported: Undriven | None = None

        def read() -> Run:
            """The run now; says on stderr when it loses its driver, and when it has one again."""
            nonlocal reported
            state, undriven = store.outage.retry(read_once)
            if undriven != reported:
                number = state.started.run_number
                words = "driven again" if undriven is None else undriven.describe(number)
                say(f"run {number}: {words}")
                reported = undriven
            return state

        def read_once() -> tuple[Run, Undriven | None]:
            with store.lend() as connection:
                state = read_run(connection, run_id)
                running = [run_id] if state.status == "running" else []
                return state, undriven_runs(connection, running).get(run_id)

        def bring_up() -> FailureReasons:
            """The reasons of failures, after updating the projections.

            A user without write access leaves that to the follower. None for an archived run.
            """
            with store.lend() as connection:
                try:
                    return failure_reasons(RecordedRun.read(connection, run_id))
                except RunIsArchived:
                    return NO_FAILURES

        state, failures = read(), NO_FAILURES
        while not state.at_rest:
            left_s = _LOOK_EVERY_S if until is None else until - time.monotonic()
            if left_s <= 0:
                break
            time.sleep(min(left_s, _LOOK_EVERY_S))
            state = read()
        else:  # over
            failures = store.outage.retry(bring_up)
    outcome = Outcome.of(state, interrupted=False)
    code = exit_code_of(outcome) if state.at_rest else ExitCode.STILL_RUNNING
    why = f": {outcome.reason}" if outcome.reason else ""
    say(f"run {outcome.run_number} {outcome.name}: {outcome.status}{why}")
    say_worst(failures)
    for name, gate in outcome.gates.items():
        if not gate["met"]:
            say(gate_line(name, gate))
    say_gates_not_met(outcome, code)
    if output_format is not Format.TABLE:
        print_json(summary(outcome, code))
    click.get_current_context().exit(code)
