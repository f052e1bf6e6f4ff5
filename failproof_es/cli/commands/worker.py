"""`worker`: drive shards of runs beside other workers, on this host or on others."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from uuid import UUID

import click

from failproof_es.assurance.signing.checkpoint_signer import CheckpointSigner, require_continued_log
from failproof_es.cli.app.alive import told_alive
from failproof_es.cli.app.errors import ExitCode, exit_code_of
from failproof_es.cli.app.following import (
    following,
    report_missing_key,
    report_signing_error,
)
from failproof_es.cli.app.options import FiniteRange, allow_class_option, allow_option
from failproof_es.cli.app.process import raise_descriptor_limit, termination_signals
from failproof_es.cli.app.program import CliCommand, session
from failproof_es.cli.rendering.output import say
from failproof_es.cli.starting.telemetry_beside import (
    collector_of,
    telemetry_of_worker,
    telemetry_options,
)
from failproof_es.configuration.providers import rules_of
from failproof_es.core.run import Run
from failproof_es.core.sharding.decisions import Choice
from failproof_es.engine.drive.run_stream import Observe
from failproof_es.engine.drive_outcome import Outcome
from failproof_es.engine.finish.shared_checks import SharedChecks
from failproof_es.engine.history import read_run
from failproof_es.engine.workers.ending import describe_end
from failproof_es.engine.workers.shard_queue import is_open, usable_queue
from failproof_es.engine.workers.worker import Worker
from failproof_es.engine.workers.worker_options import MOST_SHARDS, WorkerOptions
from failproof_es.gate_words import gate_line
from failproof_es.models.trust.permissions import permissions_of
from failproof_es.problems import InvalidInput
from failproof_es.store.outage import Outage, OutageReport
from failproof_es.store.reading.reader import resolve_run
from failproof_es.store.store import Store
from failproof_es.store.url_redaction import redact_message
from failproof_es.store.writing.lease import LEASE_S
from failproof_es.support import event_loop
from failproof_es.support.plurals import plural

_LINE_EVERY_S = 10.0


@click.command(cls=CliCommand)
@click.option("--run", "run", metavar="RUN", help="Work on this run alone.")
@click.option(
    "--provider",
    "providers",
    multiple=True,
    metavar="NAME",
    help="Work only on runs all of whose models are asked through this provider. May be repeated.",
)
@click.option(
    "--max-shards",
    type=click.IntRange(min=1, max=1_000),
    default=MOST_SHARDS,
    show_default=True,
    metavar="N",
    help="Hold at most N shards at once.",
)
@click.option("--drain", is_flag=True, help="Leave when no run is open any more.")
@click.option(
    "--alive-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Touch FILE every 5 seconds, for a probe that looks whether this process works.",
)
@allow_option
@allow_class_option
@telemetry_options
@click.option("--quiet", "-q", is_flag=True, help="Print no progress.")
@click.option("--attached", is_flag=True, hidden=True)
@click.option(
    "--shared-checks", type=click.Path(path_type=Path, file_okay=False), hidden=True,
    help="The folder in which the workers of one command leave what they checked.",
)  # fmt: skip
@click.option(
    "--lease-seconds", type=FiniteRange(min=1), default=LEASE_S, hidden=True,
    help="How long others wait when this worker goes silent.",
)  # fmt: skip
def worker(
    run: str | None,
    providers: tuple[str, ...],
    max_shards: int,
    drain: bool,
    alive_file: Path | None,
    allow: tuple[str, ...],
    allow_class: tuple[str, ...],
    otlp: str | None,
    otel_content: bool,
    quiet: bool,
    attached: bool,
    shared_checks: Path | None,
    lease_seconds: float,
) -> None:
    """Drive runs together with other workers, on this host or on others.

    A run is open for workers after `start --workers N`, `start --detach`, or the same of
    `resume`. A worker takes shards of it, asks their models and records the answers. If its
    process is killed, others take its shards over after a second or two, on a busy host within
    half a minute. If its host is gone or cut off, they do so about 15 seconds later.

    Ctrl-C lets requests in flight end, and leaves: other workers go on. A second one leaves at
    once. The keys of the models must be in this process's environment.

    Exits 3 if a run that it worked on has ended and a gate is not met, and 1 if such a run failed
    or is paused. Exits 2 if this host could not drive the run of --run, or with --drain any open
    run.

    Whoever can write to the log can plan a run. So this host decides: a worker sends a vendor's
    key to the vendor's own host, and runs no class. --allow lets another variable go to another
    host, --allow-class lets a class run. A run that wants more is left to other workers.
    """
    permissions = permissions_of(allow, allow_class)
    if not attached:  # else the process that it is attached to does this
        otlp = collector_of(otlp, otel_content, detach=False)
        for line in permissions.describe():
            say(line)
    for name in providers:
        rules_of(name)  # raises `InvalidInput` without such a provider
    raise_descriptor_limit()
    # The process that it is attached to has reached the database, so this one retries.
    store, run_id = Outage().retry(partial(_open_store, run)) if attached else _open_store(run)
    with store:
        if run is not None and run_id is None:
            return
        choice = Choice(run_id, frozenset(providers))
        shared = None if shared_checks is None else SharedChecks(shared_checks)
        options = WorkerOptions(
            choice, max_shards, drain, lease_seconds, shared, permissions, announces=not attached
        )
        with ExitStack() as stack:
            keeper, knows_missing = None, False
            if not attached:  # else the process that it is attached to does this
                require_continued_log(store)
                store.outage_report = OutageReport(lambda line: say(redact_message(line)))
                knows_missing = report_missing_key(store)
                keeper = stack.enter_context(CheckpointSigner(store))
                stack.enter_context(following(store))
            observe = stack.enter_context(telemetry_of_worker(store, otlp, otel_content))
            working = _work_until_done(
                store, options, alive_file, observe, quiet=quiet, attached=attached
            )
            done = event_loop.run(working)
        ended = [] if attached else _read_ended(store, done.joined if run_id is None else {run_id})
    if keeper is not None:
        report_signing_error(keeper, knows_missing=knows_missing)
    if not quiet:
        say(f"left: {plural(done.finished, 'evaluation')} finished here")
    _require_work(done, run_id, drain=drain)
    code = ExitCode.DONE
    for state in ended:
        code = _worse_exit_code(code, _report_end(state, done, is_chosen=run_id is not None))
    if keeper is not None and keeper.changed is not None:
        code = ExitCode.FAILED
    if code is not ExitCode.DONE:
        click.get_current_context().exit(code)


def _require_work(done: Worker, run_id: UUID | None, *, drain: bool) -> None:
    """Raise `InvalidInput` if this host refused every run that it was to work on.

    That is the run `run_id`, or with `drain` every open run.
    """
    refusals = done.refusals.why
    if run_id is not None and run_id in refusals:
        raise refusals[run_id]
    if drain and refusals and not done.joined:
        refused = plural(len(refusals), "open run")
        raise InvalidInput.because(
            "run-refused",
            f"this host can drive no run: it refused {refused}, for the reasons above",
        )


def _report_end(state: Run, done: Worker, *, is_chosen: bool) -> ExitCode:
    """Report how a run ended, unless it ended well or that was reported; return its exit code.

    `is_chosen`: the user named the run, so its end is always reported.
    """
    outcome = Outcome.of(state, interrupted=False)
    code = exit_code_of(outcome)
    number = state.started.run_number
    was_reported = state.started.originator_id in done.ended
    if is_chosen or (code is not ExitCode.DONE and not was_reported):
        is_paused = state.status == "paused"
        say(f"run {number} paused: {state.reason}" if is_paused else describe_end(state))
    for name, gate in outcome.gates.items():
        if not gate["met"]:
            say(f"run {number}: {gate_line(name, gate)}")
    return code


def _worse_exit_code(one: ExitCode, other: ExitCode) -> ExitCode:
    """The worse of two exit codes: a failure, then a gate that is not met."""
    return max((one, other), key=(ExitCode.DONE, ExitCode.GATE_NOT_MET, ExitCode.FAILED).index)


def _read_ended(store: Store, runs: Collection[UUID]) -> list[Run]:
    """The sealed or paused ones of the runs, by number."""
    with store.lend() as connection:
        states = [read_run(connection, run_id) for run_id in runs]
    over = [state for state in states if state.at_rest]
    return sorted(over, key=lambda state: state.started.run_number)


def _open_store(run: str | None) -> tuple[Store, UUID | None]:
    """Open the store; with it the id of the run to join.

    The id is `None` if `run` is, or if that run has ended. Raises `InvalidInput` if workers cannot
    work there.
    """
    store = session().open_store()
    try:
        usable_queue(store)
        return store, None if run is None else _run_to_join(store, run)
    except BaseException:
        store.close()
        raise


def _run_to_join(store: Store, run: str) -> UUID | None:
    """The id of the run that `run` names; `None`, with a message, if it has ended.

    Raises `InvalidInput` if workers may not drive it.
    """
    with store.lend() as connection:
        run_id = resolve_run(connection, run)
        state = read_run(connection, run_id)
        if state.ended and state.sealed:
            say(f"{describe_end(state)}; it has ended, nothing was sent")
            return None
        if not is_open(connection, run_id):
            number = state.started.run_number
            raise InvalidInput.because(
                "run-not-open",
                f"run {number} is not open for workers",
                remedy=f"`failproof-es resume {number} --detach` opens it",
            )
    return run_id


async def _work_until_done(
    store: Store,
    options: WorkerOptions,
    alive_file: Path | None,
    observe: Observe,
    *,
    quiet: bool,
    attached: bool,
) -> Worker:
    """Work on runs until no work is left, or until a signal; return the worker with its counts.

    An `attached` worker ends when its parent process does.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    working = Worker(store, options, observe=observe, stop=stop, say=say)

    def on_signal() -> None:
        if not stop.is_set():
            stop.set()
            if not attached:
                say("leaving after the requests in flight; press again to leave at once")
        elif not attached:
            say("left at once; what is recorded stays, and others take the shards over")
            os._exit(ExitCode.INTERRUPTED)

    for number in (signal.SIGINT, *termination_signals()):
        loop.add_signal_handler(number, on_signal)
    if attached:
        _watch_parent(lambda: loop.call_soon_threadsafe(stop.set))
    telling = asyncio.create_task(_report_progress(working)) if not quiet else None
    try:
        async with told_alive(None if attached else alive_file):
            await working.work()
    finally:
        if telling is not None:
            telling.cancel()
    return working


def _watch_parent(gone: Callable[[], object]) -> None:
    """Call `gone`, from another thread, once standard input ends: the parent process is gone."""

    def watch() -> None:
        sys.stdin.read()
        gone()

    threading.Thread(target=watch, name="parent", daemon=True).start()


async def _report_progress(working: Worker) -> None:
    """Say every 10 seconds how many evaluations are finished, if there are more; never returns."""
    before, since = 0, time.monotonic()
    while True:
        await asyncio.sleep(_LINE_EVERY_S)
        now, done = time.monotonic(), working.finished
        if done != before:
            say(f"{plural(done, 'evaluation')} finished, {(done - before) / (now - since):.1f}/s")
        before, since = done, now
