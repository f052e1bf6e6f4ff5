"""`runs`: all recorded runs, newest first, or what they cost together."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from itertools import chain, islice
from typing import Any
from uuid import UUID

import click

from failproof_es.catalogue.wording import usd, usd_at_least
from failproof_es.cli.app.chosen_run import left_out_rows, say_warning
from failproof_es.cli.app.errors import ExitCode
from failproof_es.cli.app.next_page import say_next_page
from failproof_es.cli.app.option_values import moment_argument
from failproof_es.cli.app.program import CliCommand, session
from failproof_es.cli.rendering.output import (
    BelowRows,
    Column,
    Format,
    format_option,
    print_facts,
    print_json,
    print_rows,
    print_table,
    say,
)
from failproof_es.cli.usage import WrongUsage
from failproof_es.engine.history import read_run
from failproof_es.engine.related_runs.attempts import GATES
from failproof_es.engine.workers.presence import list_holders, undriven_runs
from failproof_es.reading.listed_runs import ListedRun, list_runs
from failproof_es.reading.recorded_run import reader_for
from failproof_es.reading.result_reader import RunFilter
from failproof_es.reading.run_costs import TotalCost, cost_of_runs
from failproof_es.store.reading.reader import Connection, resolve_run
from failproof_es.support.percentages import percent, percent_range
from failproof_es.support.plurals import plural
from failproof_es.support.untrusted_text import one_line

_LIMIT = 20
"""The number of runs that are printed without --limit."""
TABLE_COLUMNS = (
    Column("run", "run_number", right=True),
    Column("name", "name_shown"),
    Column("status", "status"),
    Column("started", "started_at"),
    Column("gates", "gates_shown"),
    Column("passed", "passed_shown", folds=True),
    Column("remark", "remark_shown", is_text=True),
    Column("attempt", "attempt_shown", right=True, folds=True),
    Column("overlapping", "overlapping", right=True, folds=True),
    Column("finished", "finished_shown", right=True, folds=True),
    Column("cost", "cost_shown", right=True, folds=True),
    Column("id", "run_id", is_spare=True),
)
_MISSING = (
    Column("no score", "unscored", right=True),
    Column("not ended", "unfinished", right=True),
)
"""Printed with --unscored."""
_WORKERS = Column("workers", "workers_shown", folds=True)
"""Printed if a run is being driven now."""
_BATCH = 500
"""The most runs whose drivers one query looks up."""
_LINES_BELOW = 2
_MOST_MODELS = 2
"""Number of models whose rates the table shows."""
_KEYS = (
    "run_id", "run_number", "name", "status", "started_at", "dialect", "models", "experiment",
    "attempt", "attempts", "overlapping", "planned", "selection", "finished", "unfinished",
    "unscored", "passed", "gates_met", "cost_usd", "unpriced", "possibly_charged", "workers",
    "undriven", "problem", "archived", "imported", "branch", "given_name", "tags", "note", "hidden",
)  # fmt: skip
"""The keys of a run as JSON, in this order."""
_REMARKS = ("imported", "selection", "branch")
_RATE_KEYS = ("model", "passed", "failed", "scored", "unscored", "rate", "bounds")


@click.command(cls=CliCommand)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    help="Print at most N runs. The command for the next page is printed on stderr.  "
    f"[default: {_LIMIT}]",
    metavar="N",
)
@click.option(
    "--before",
    type=click.IntRange(min=1, max=2**63 - 1),
    metavar="NUMBER",
    help="Print only runs whose number is smaller than NUMBER.",
)
@click.option("--tag", metavar="TAG", help="Print only runs with this tag (`annotate --tag`).")
@click.option(
    "--text", metavar="TEXT", help="Print only runs with TEXT in a name, or of this number or id."
)
@click.option(
    "--experiment", metavar="RUN", help="Print only attempts of the same experiment as RUN."
)
@click.option(
    "--since", type=moment_argument, metavar="TIME", help="Print only runs begun then or later."
)
@click.option(
    "--until", type=moment_argument, metavar="TIME", help="Print only runs begun then or earlier."
)
@click.option("--hidden", is_flag=True, help="Print hidden runs, too (`annotate --hide`).")
@click.option(
    "--unscored", is_flag=True,
    help="Print only runs with evaluations that have no score: ended without one, or never ended; "
    "and runs that cannot be counted.",
)  # fmt: skip
@click.option("--all", "everything", is_flag=True, help="Print all runs, however many there are.")
@click.option(
    "--total", is_flag=True, help="Print only what all chosen runs cost together (see below)."
)
@format_option()
def runs(
    limit: int | None,
    before: int | None,
    tag: str | None,
    text: str | None,
    experiment: str | None,
    since: datetime | None,
    until: datetime | None,
    hidden: bool,
    unscored: bool,
    everything: bool,
    total: bool,
    output_format: Format,
) -> None:
    """List the runs, newest first.

    \b
    attempt      which attempt at the same experiment this is: same cases, models, judges
    overlapping  how many earlier runs overlap with it (share many cases); `show RUN` names them
    finished     the evaluations scored or abandoned, of those planned
    no score     the evaluations that ended without a score (with --unscored)
    not ended    the planned evaluations that did not end; `results RUN --unscored` has reasons
    remark       tags; which part of the cases and models was asked, if it is not all; which run
                 it carries over evaluations from; which tool recorded it
    passed       the share that passed, of those that passed or failed, for each model; of more
                 than two models the lowest first
    workers      who drives it now; `workers` says more of each. The remark of a running run that
                 nobody drives says since when, and how to resume it
    cost         of all answers, judges included; `unknown` if a price or a token count is;
                 `at least` if a request without an answer may have been charged. In JSON
                 `unpriced` names the models without a price, `possibly_charged` counts these
                 requests

    A run that is archived is listed as `archived`; in JSON `archived` says where it is, and how to
    attach it. What was not recorded when it ended is unknown.

    In JSON the remarks are under `selection`, `branch` and `imported`. Hidden runs are counted
    on stderr, and as JSON also in the last object, `left_out`. The command for older runs is on
    stderr.

    With --total, the cost is of all runs that the other options choose. It is `at least` the sum
    of the known costs if answers have no price or no count of tokens (`unpriced`, by model), or
    runs are archived or unreadable (`uncounted`). In JSON `cost_usd` is then null, and `known_usd`
    the sum.

    A run whose record is damaged is listed as unreadable, and the exit code is 1. The reason is
    printed on stderr; in JSON it is under `problem`.
    """
    if total and (limit is not None or unscored):
        raise WrongUsage("options-conflict", "--total excludes --limit and --unscored")
    if everything and limit is not None:
        raise WrongUsage("options-conflict", "--all excludes --limit")
    limit = min(limit or _LIMIT, sys.maxsize - 1)
    problems: list[str] = []
    with session().open_store() as store, store.lend() as connection:
        which = RunFilter(
            text=text, tag=tag, hidden=None if hidden else False, since=since, until=until,
            experiment=None if experiment is None else _experiment_of(connection, experiment),
        )  # fmt: skip
        reader = reader_for(connection)
        say_warning(reader)
        if total:
            cost = cost_of_runs(connection, reader, which, before)
            left_out = [] if hidden else _say_hidden(reader.count_hidden())
            _print_total(cost, left_out, output_format)
            _end_if_damaged([f"run {number} cannot be read" for number in cost.damaged])
            return
        holders = list_holders(connection)
        most = None if everything or unscored else limit + 1  # one more: is there a next page?
        listed = list_runs(connection, reader, limit=most, before=before, which=which)
        if unscored:
            listed = (run for run in listed if not run.is_scored)
        page = islice(listed, None if everything else limit)
        rows = _with_drivers(connection, _collect_problems(map(_row, page), problems), holders)
        if output_format is Format.TABLE:
            extra = (*(_MISSING if unscored else ()), *((_WORKERS,) if holders else ()))
            columns = (*TABLE_COLUMNS[:-1], *extra, TABLE_COLUMNS[-1])
            print_table(
                map(_for_people, rows),
                columns,
                when_empty=_when_empty(before, which, unscored),
                below=BelowRows(most_phrases=_LINES_BELOW),
            )
        left_out = [] if hidden else _say_hidden(reader.count_hidden())
        if output_format is not Format.TABLE:
            objects = chain(rows, left_out_rows([], left_out))
            print_rows(objects, TABLE_COLUMNS, output_format)
        if (older := next(listed, None)) is not None:
            say_next_page("older runs", before=older.run_number + 1)
    _end_if_damaged(problems)


def _end_if_damaged(problems: Sequence[str]) -> None:
    """End the command with exit code 1 after what is said of each damaged run, if there is one."""
    for problem in problems:
        say(f"error: the record of {problem}. `failproof-es verify` says whether it was changed.")
    if problems:
        click.get_current_context().exit(ExitCode.FAILED)


def _say_hidden(count: int) -> list[dict[str, Any]]:
    """Say on stderr how many hidden runs are left out; return the entry for `left_out` in JSON."""
    if count == 0:
        return []
    command = "failproof-es runs --hidden"
    say(f"{plural(count, 'hidden run')} left out: `{command}`")
    return [{"why": "hidden", "runs": count, "command": command}]


def _experiment_of(connection: Connection, run: str) -> str:
    """The digest of the experiment of the run that `run` names."""
    return read_run(connection, resolve_run(connection, run)).started.experiment.digest


def _print_total(
    total: TotalCost, left_out: Sequence[dict[str, Any]], output_format: Format
) -> None:
    """Print what runs cost together, and what has no known cost."""
    if output_format is not Format.TABLE:
        print_json({**asdict(total), "left_out": left_out})
        return
    is_unknown = total.cost_usd is None and not total.known_usd
    is_least = "at least " if total.cost_usd is None or total.possibly_charged else ""
    unpriced = (
        f"{of.model}: {plural(of.answers, 'answer')} in {plural(len(of.run_numbers), 'run')}"
        for of in total.unpriced
    )
    uncounted = ", ".join(f"run {number}" for number in total.uncounted)
    facts = {
        "runs": f"{total.runs:,}",
        "answers": f"{total.answers:,}",
        "cost": usd(None) if is_unknown else f"{is_least}{usd(total.known_usd)}",
        "unpriced": "; ".join(unpriced),
        "possibly charged": total.possibly_charged and plural(total.possibly_charged, "request"),
        "uncounted": uncounted and f"{uncounted} (archived or unreadable)",
    }
    print_facts({name: value for name, value in facts.items() if value})


def _when_empty(before: int | None, which: RunFilter, unscored: bool) -> str:
    """The message if there is no run to list: why, and what to do.

    `before` and `unscored` are the values of the options.
    """
    if unscored:
        return "every planned evaluation of these runs has a score"
    if which == RunFilter(tag=which.tag, hidden=which.hidden) and which.tag is not None:
        tag = one_line(which.tag)
        return f"no run has the tag {tag}; `failproof-es annotate RUN --tag` adds one"
    if which.chooses:
        return "no run matches these options; all: `failproof-es runs`"
    if before is None:
        return "no runs yet; start the first: `failproof-es start quickstart`"
    return f"no run before {before}; list the newest: `failproof-es runs`"


def _collect_problems(
    rows: Iterable[dict[str, Any]], problems: list[str]
) -> Iterator[dict[str, Any]]:
    """The same rows, unchanged; the defect of a damaged one is appended to `problems`."""
    for row in rows:
        if row["problem"] is not None:
            defect = one_line(row["problem"].rstrip("."))
            problems.append(f"run {row['run_number']} is not as the engine writes it: {defect}")
        yield row


def _row(run: ListedRun) -> dict[str, Any]:
    """The run with the keys of `runs --json`."""
    computed: dict[str, Any] = {
        "run_id": str(run.run_id),
        "models": list(run.models),
        "tags": list(run.tags),
        "unpriced": list(run.unpriced),
        "passed": [{name: getattr(one, name) for name in _RATE_KEYS} for one in run.passed],
        "workers": None if run.problem else [],
        "undriven": None,
    }
    return {name: computed[name] if name in computed else getattr(run, name) for name in _KEYS}


def _with_drivers(
    connection: Connection, rows: Iterable[dict[str, Any]], holders: Mapping[str, Sequence[str]]
) -> Iterator[dict[str, Any]]:
    """The rows with the processes that drive each run, or since when none does."""
    remaining = iter(rows)
    while batch := tuple(islice(remaining, _BATCH)):
        running = (row["run_id"] for row in batch if row["status"] == "running")
        unheld = [UUID(run_id) for run_id in running if run_id not in holders]
        undriven = undriven_runs(connection, unheld)
        for row in batch:
            workers = holders.get(row["run_id"], [])
            yield {**row, "workers": workers, "undriven": undriven.get(UUID(row["run_id"]))}


def describe_passed(passed: Sequence[dict[str, Any]], models: Sequence[str]) -> str:
    """The pass rate of each model as text, for the table: `gpt-4o 18/20 (90.0 %)`.

    Only the names of `models` without rates. Where not all fit, the lowest rates come first.
    """
    if len(passed) > _MOST_MODELS:
        passed = sorted(passed, key=_by_rate)
    rates = list(map(_describe_rate, passed)) or list(models)
    more = len(rates) - _MOST_MODELS
    return ", ".join(rates[:_MOST_MODELS]) + (
        f" and {plural(more, 'more model')}" if more > 0 else ""
    )


def _by_rate(row: Mapping[str, Any]) -> tuple[bool, float]:
    return row["rate"] is None, row["rate"] or 0.0


def _describe_rate(row: Mapping[str, Any]) -> str:
    """A model's pass rate as text: `gpt-4o 9/10 (90.0 %; 45.0 % to 95.0 %)`.

    The range are the rates if the evaluations without a score had failed or passed.
    """
    rates = [] if row["rate"] is None else [percent(row["rate"])]
    if row["bounds"] is not None:
        rates.append(percent_range(row["bounds"]))
    counts = f"{row['passed']:,}/{row['passed'] + row['failed']:,}"
    return f"{row['model']} {counts} ({'; '.join(rates) or '-'})"


def _describe_workers(workers: Sequence[str]) -> str | None:
    """The first worker's name, and how many more there are; `None` without workers."""
    if not workers:
        return None
    more = len(workers) - 1
    return workers[0] + (f" and {more} more" if more else "")


def _describe_tags(tags: Sequence[str]) -> str | None:
    """The tags for the table: `tags: nightly, baseline`; `None` without tags."""
    return f"tags: {', '.join(tags)}" if tags else None


def _for_people(row: dict[str, Any]) -> dict[str, Any]:
    undriven = row["undriven"]
    gone = None if undriven is None else undriven.describe(row["run_number"])
    passed = describe_passed(row["passed"], row["models"])
    remarks = (gone, _describe_tags(row["tags"]), *map(row.get, _REMARKS))
    return {
        **row,
        "name_shown": row["given_name"] or row["name"],
        "remark_shown": "; ".join(filter(None, remarks)),
        "attempt_shown": row["attempt"] and f"{row['attempt']} of {row['attempts']}",
        "passed_shown": f"{passed} unknown" if passed and row["archived"] else passed or None,
        "cost_shown": usd_at_least(row["cost_usd"], row["possibly_charged"]),
        "gates_shown": GATES[row["gates_met"]],
        "workers_shown": _describe_workers(row["workers"]),
        "finished_shown": None if row["planned"] is None else f"{row['finished']}/{row['planned']}",
    }
