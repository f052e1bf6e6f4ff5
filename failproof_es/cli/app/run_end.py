"""The output of `start` and `resume` after a run has ended or was stopped."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Any

import click

from failproof_es.catalogue.wording import describe_run_cost
from failproof_es.cli.app.errors import ExitCode
from failproof_es.cli.rendering.failed_results import worst_lines
from failproof_es.cli.rendering.findings import finding_lines, fixed_outcomes
from failproof_es.cli.rendering.junit import write_junit
from failproof_es.cli.rendering.output import print_line, say
from failproof_es.cli.rendering.partial_results import PartialResults
from failproof_es.cli.rendering.results_file import write_results_file
from failproof_es.cli.rendering.suite_table import print_suites
from failproof_es.configuration.recorded import recorded_configuration
from failproof_es.core.run import describe_selection
from failproof_es.core.summary import RunSummary
from failproof_es.engine.drive_outcome import Outcome
from failproof_es.events import VOIDS_ANSWER
from failproof_es.gate_words import gate_line, unmet_gates
from failproof_es.problems import InvalidInput
from failproof_es.reading.failure_reasons import FailureReasons
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.reading.summary_rows import describe_messages
from failproof_es.store.store import Store
from failproof_es.support.atomic_file import describe_write_error
from failproof_es.support.extras import is_installed
from failproof_es.support.plurals import plural
from failproof_es.support.untrusted_text import one_line

_CONFIGURATION_STAYS = "a run keeps its configuration: after a change of the file, start a new one"
_MOST_GATES_NAMED = 3
_ABSENT = frozenset({"not_found", VOIDS_ANSWER})
"""Kinds of errors that resuming cannot change, because a run keeps its configuration."""


def summary(outcome: Outcome, exit_code: ExitCode) -> dict[str, Any]:
    """The JSON object that ends `start --json` (architecture § 7)."""
    return {
        "run_id": str(outcome.run_id),
        "run_number": outcome.run_number,
        "name": outcome.name,
        "status": outcome.status,
        "reason": outcome.reason,
        "counts": outcome.counts.model_dump(),
        "gates": outcome.gates,
        "intact": outcome.intact,
        "exit_code": int(exit_code),
    }


def write_files(store: Store, run: RecordedRun, junit: Path | None, quiet: bool) -> bool:
    """Write the results file that the configuration names, and JUnit XML to `junit`.

    On failure, reports it on stderr and returns false: the run's results are on record anyway.
    `quiet` leaves out the paths of written files.
    """
    try:
        PartialResults(store, run).write_due()
        path = write_results_file(store, run) if run.run.ended else None
    except OSError as error:
        path = Path(error.filename) if isinstance(error.filename, str) else None
        why = (
            f"{path} cannot be written: {describe_write_error(path, error)}" if path else str(error)
        )
        say(
            f"error: the results file is missing: {why}. The results are on record: "
            f"`failproof-es results {run.started.run_number} --format jsonl` prints them."
        )
        return False
    if path is not None and not quiet:
        say(f"results written to {path}")
    return junit is None or _write_junit(store, run, junit, quiet)


def _write_junit(store: Store, run: RecordedRun, path: Path, quiet: bool) -> bool:
    try:
        write_junit(store, [run], path)
    except InvalidInput as error:  # requests were sent, so this is no usage error
        remedy = f"`failproof-es results {run.started.run_number} --junit FILE` writes it"
        say(f"error: {error.problems[0].message}. The results are on record: {remedy}.")
        return False
    if not quiet:
        say(f"JUnit XML written to {path}")
    return True


def print_outcome(outcome: Outcome, counted_up: RunSummary, failures: FailureReasons) -> None:
    """Print the results by suite, why evaluations and requests failed, the gates, and the findings.

    `counted_up` is the summary of the run, the findings are those of its validation.
    """
    part = describe_selection(counted_up.run.started)
    suffix = "" if part is None else f" ({part})"
    title = f"run {outcome.run_number} {outcome.name}{suffix}: {outcome.status}"
    counts = outcome.counts
    if counts.finished < counts.planned:
        title += f", {counts.finished:,} of {plural(counts.planned, 'evaluation')} finished"
    if carried_over := counted_up.asking().carried_over:
        title += f", {carried_over:,} of them carried over"
    if fixed := fixed_outcomes(outcome.validation):
        title += f"; {fixed}"
    print_suites(counted_up, title=title)
    if (line := failures.describe()) is not None:
        print_line(f"failed evaluations: {line}")
    for line in worst_lines(failures):
        click.echo(line)
    if counted_up.asking().errors and (outcome.status != "completed" or counts.abandoned):
        print_line(f"failed requests: {describe_messages(counted_up)}")
    if counts.finished == counts.planned and (cost := describe_run_cost(counted_up)) is not None:
        click.echo(f"cost: {cost}")
    for name, gate in outcome.gates.items():
        print_line(gate_line(name, gate))
    if outcome.validation is not None:
        for line in finding_lines(outcome.validation):
            print_line(line)


def say_worst(failures: FailureReasons) -> None:
    """Say on stderr which results failed worst, and why."""
    for line in worst_lines(failures):
        say(line)


def _absent_models(counted_up: RunSummary) -> list[str]:
    """The keys of the models that their servers lack, or that answered under another name."""
    errors = counted_up.counts.errors
    return sorted({error.model_key for error in errors if error.kind in _ABSENT})


def say_what_next(counted_up: RunSummary, status: str, config: Path | None = None) -> None:
    """Say on stderr which commands to run next, for a run of this summary and status.

    `config` is the configuration that the user named; `None` if they named the run.
    """
    number, total = counted_up.run.started.run_number, counted_up.total
    if status == "running":
        say(
            f"run {number} goes on: workers elsewhere drive it. `failproof-es workers` lists them, "
            f"`failproof-es show {number}` tells how far it is"
        )
        return
    if status == "paused":
        if total.finished == 0 and (absent := _absent_models(counted_up)):
            say(
                f"no answer came from {', '.join(absent)}; {_CONFIGURATION_STAYS}. "
                f"`failproof-es give-up {number}` ends this one"
            )
            return
        if not counted_up.run.at_ceiling:  # its reason names the command
            say(f"resume it with `failproof-es resume {number}`")
        if not total.scored:
            say(_CONFIGURATION_STAYS)
        _say_what_is_missing(counted_up)
        return
    if awaiting := total.awaiting:
        await_ = "awaits" if awaiting == 1 else "await"
        say(
            f"{plural(awaiting, 'evaluation')} {await_} review by people: `failproof-es review "
            f"{number}` at the terminal, `failproof-es review export {number} FILE` for a "
            "spreadsheet"
        )
    if recorded_configuration(counted_up.run.started).gates.by == "people":
        say(f"people decide the gates on rates: `failproof-es review close {number}` judges them")
    _say_what_is_missing(counted_up)
    if total.failed:
        name = "CONFIG" if config is None else quote(str(config))
        whom = "all models " if len(counted_up.run.started.models) > 1 else ""
        one = "; with `--model KEY` one model what it failed" if whom else ""
        say(
            f"after a fix, `failproof-es start {name} --reuse {number}` asks everything whose "
            f"requests the fix changed, so that `diff` shows what got worse, too; "
            f"`--only failed:{number}` asks {whom}only the cases that failed{one}"
        )
    say_where_to_look(counted_up)


def say_gates_not_met(outcome: Outcome, exit_code: ExitCode) -> None:
    """Say on stderr how many gates are not met, and name the worst, if the command exits for them.

    It is the last line of a log: the reason that a pipeline failed.
    """
    if exit_code == ExitCode.GATE_NOT_MET:
        missed = unmet_gates(outcome.gates)
        more = len(missed) - _MOST_GATES_NAMED
        names = ", ".join((*missed[:_MOST_GATES_NAMED], *([f"{more:,} more"] if more > 0 else [])))
        say(
            f"{len(missed)} of {plural(len(outcome.gates), 'gate')} not met: {one_line(names)} "
            f"(exit code {int(exit_code)})"
        )


def _say_what_is_missing(counted_up: RunSummary) -> None:
    """Say on stderr how to ask again the evaluations that ended without a score, if any did."""
    if not (missing := counted_up.total.missing):
        return
    lost = counted_up.total.lost
    were = "was" if missing == 1 else "were"
    of_those = f", {lost:,} of them without a usable answer" if lost else ""
    say(
        f"{plural(missing, 'evaluation')} {were} abandoned{of_those}: `failproof-es resume "
        f"{counted_up.run.started.run_number} --retry-abandoned` asks again in a run that carries "
        "over the rest"
    )


def say_where_to_look(counted_up: RunSummary) -> None:
    """Say on stderr which commands show the results of the run."""
    number = counted_up.run.started.run_number
    commands = [
        f"results {number}{' --failed' if counted_up.total.failed else ''}",
        *([f"report {number}"] if is_installed("report") else []),
        *(["console"] if is_installed("console") else []),
    ]
    say(f"next: {', '.join(f'`failproof-es {command}`' for command in commands)}")
