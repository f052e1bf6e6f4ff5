"""`show`: the summary of one run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import click

from failproof_es.assurance.protection_status import ProtectionStatus, protection_status
from failproof_es.cli.app.as_of import as_of_option
from failproof_es.cli.app.chosen_run import read_run
from failproof_es.cli.app.errors import ExitCode
from failproof_es.cli.app.program import Command, session
from failproof_es.cli.rendering.findings import finding_lines, fixed_outcomes
from failproof_es.cli.rendering.output import (
    Column,
    Format,
    format_option,
    moment,
    print_facts,
    print_json,
    print_table,
    say,
)
from failproof_es.cli.rendering.people_table import print_people
from failproof_es.cli.rendering.suite_table import print_suites
from failproof_es.configuration.recorded import recorded_configuration
from failproof_es.core.case import run_id
from failproof_es.core.costs import Tokens, describe_tokens
from failproof_es.core.people import OUTCOMES, REVIEW_STATUSES, describe_outcome
from failproof_es.core.run import describe_selection, how_branched
from failproof_es.core.spend import ceiling_of, spent_text
from failproof_es.core.summary import RunSummary
from failproof_es.core.unscored import GROUPS, WORDS
from failproof_es.engine.related_runs.asked_again import chosen_by_result
from failproof_es.engine.related_runs.attempts import GATES, RelatedRun, attempts_of
from failproof_es.engine.related_runs.retried_evaluations import (
    RetriedEvaluation,
    retried_evaluations,
)
from failproof_es.engine.required_plugins import describe_packages
from failproof_es.engine.reviews.closings import closings_of
from failproof_es.engine.reviews.people import describe_review_statuses
from failproof_es.events import Again, ModelSnapshot
from failproof_es.gates import gate_line
from failproof_es.reading.people_figures import people_figures
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.reading.summary_rows import (
    describe_messages,
    errors_by_kind,
    errors_by_message,
    model_rows,
    suite_rows,
    unscored_row,
)
from failproof_es.reading.workers import RunWorker, describe_workers, workers_of
from failproof_es.report.data.wording import describe_version
from failproof_es.support.plurals import plural

_NAMED = 10
"""The number of evaluations that are listed for people."""
_NEWEST = 20
"""The number of other attempts, and of overlapping runs, that are listed."""
_HAD: Mapping[Again, str] = {
    "abandoned": "had been abandoned",
    "errors": "had ended with an error",
    "failed": "had failed",
}
_OF_EVERY_EVENT = {"originator_id", "originator_version", "run_id", "timestamp"}
_SUITE_FILES = (
    Column("suite file", "path"),
    Column("cases", "cases", right=True),
    Column("sha256", "sha256"),
)
_OTHERS = (
    Column("run", "run_number", right=True),
    Column("attempt", "attempt", right=True),
    Column("name", "name"),
    Column("status", "status"),
    Column("started", "started_at"),
    Column("finished", "finished_shown", right=True),
    Column("scored", "scored", right=True),
    Column("gates", "gates"),
    Column("same cases", "shared_cases", right=True),
)


@click.command(cls=Command)
@click.argument("run")
@as_of_option("Show the run as it was at a position of the log or at a time.")
@format_option()
def show(run: str, as_of: str | None, output_format: Format) -> None:
    """Show the facts of RUN: who, when, what was asked, and the results.

    A finished evaluation was scored, abandoned, or left to people. Its dialect says whether a
    score passes or fails. An abandoned evaluation ended without a score. Some of these are lost,
    because no usable answer came. Failed attempts are requests without a usable reply. Most of
    them are sent again. Evaluations that were left to people await review until somebody
    reviews them; their own table shows what people decided.

    All runs that asked the same cases, or many of them, are counted. The newest 20 are named
    here, and all of them in a report.
    """
    with session().open_store() as store, store.connect() as connection:
        if not show_run(read_run(connection, run, as_of), output_format):
            click.get_current_context().exit(ExitCode.FAILED)


def show_run(run: RecordedRun, output_format: Format) -> bool:
    """Print a run's facts up to `run.up_to`. Return false if its record contradicts itself.

    Contradictions are reported on stderr.
    """
    summary = run.summary
    stands = protection_status(run.connection, sealed=run.run.sealed)
    people = Counter(summary.reviews)
    attempts = attempts_of(run.connection, run.run_id, _NEWEST)
    workers = workers_of(run.connection, run.run_id, run.up_to)
    if output_format is not Format.TABLE:
        print_json(
            {
                **as_json(run),
                "reviews": {name: people[name] for name in ("awaiting", *REVIEW_STATUSES)},
                "by_people": [
                    {
                        "model": figure.model,
                        "dimension": figure.dimension,
                        "name": figure.name,
                        **figure.as_json(),
                    }
                    for figure in people_figures(run)
                ],
                "workers": workers,
                "attempts": attempts,
                "ledger": stands,
            },
            indent=output_format is Format.JSON,
        )
        return _say_impossible(run)
    print_facts(
        {
            **_for_people(run),
            **_people(run, people),
            **_workers_for_people(workers, over=run.run.ended),
            "attempt": attempts.describe(),
            **_ledger_for_people(stands),
        }
    )
    for heading, others, before in (
        ("other attempts", attempts.others, attempts.others_before),
        ("runs that share many cases", attempts.overlapping, attempts.overlapping_before),
    ):
        if before:
            heading += f", the newest {len(others)} of {len(others) + before:,}"
        if others:
            print_table(map(_other_row, others), _OTHERS, title=heading)
        for each in others:
            if each.unreadable is not None:
                say(f"run {each.run_number} cannot be read: {each.unreadable}")
    print_table((suite.model_dump() for suite in run.started.suites), _SUITE_FILES)
    print_suites(summary)
    print_people(people_figures(run))
    for name, gate in run.gates.items():
        click.echo(gate_line(name, gate))
    if run.awaits_closing:
        click.echo(
            "gates on rates: people decide them, "
            f"`failproof-es review close {run.started.run_number}` judges them"
        )
    if run.run.validation is not None:
        for line in finding_lines(run.run.validation):
            click.echo(line)
    return _say_impossible(run)


def _say_impossible(run: RecordedRun) -> bool:
    """Report contradictions in what was shown. Return true if there are none."""
    impossible = run.summary.counts.impossible
    if not impossible:
        return True
    for each in run.feeder.impossible(run.run, limit=_NAMED):
        say(f"error: impossible_history: {each.impossible}")
    wrong = plural(impossible, "evaluation")
    say(
        f"the record of {wrong} is contradictory: `failproof-es verify` shows whether it was "
        "changed"
    )
    return False


def _other_row(other: RelatedRun) -> dict[str, Any]:
    finished, planned = ("-" if each is None else each for each in (other.finished, other.planned))
    return {
        **asdict(other),
        "finished_shown": f"{finished}/{planned}",
        "gates": GATES[other.gates_met],
    }


def _id_for_people(run: RecordedRun) -> str:
    """The run's UUID; before it the text that it was derived from, if there is one."""
    given = recorded_configuration(run.started).test_run.id
    made = given is not None and run_id(given) == run.run_id and given != str(run.run_id)
    return f"{given} ({run.run_id})" if made else str(run.run_id)


def as_json(run: RecordedRun) -> dict[str, Any]:
    """All facts of a run as one JSON object. What is unknown is null.

    `accuracy` is that of the run's only model. Of several models, `by_model` has each.
    """
    summary = run.summary
    started, total, asking, spent = run.started, summary.total, summary.asking(), summary.spent
    alone = len(summary.models) == 1
    validation = run.run.validation
    return {
        "run_id": str(run.run_id),
        "run_number": started.run_number,
        "name": started.name,
        "status": run.run.status,
        "reason": run.run.reason,
        "as_of": run.up_to,
        "selection": started.selection and started.selection.model_dump(mode="json"),
        "branched_from": started.branched_from and started.branched_from.model_dump(mode="json"),
        "imported": run.run.imported
        and {
            "says": run.run.imported_from,
            **run.run.imported.model_dump(mode="json", exclude=_OF_EVERY_EVENT),
        },
        "started_at": started.timestamp,
        "ended_at": run.run.ended_at,
        "who": started.who,
        "where": started.where,
        "code_version": started.code_version,
        "packages": started.packages,
        "dialect": started.dialect,
        "models": [model.model_dump() for model in started.models],
        "suites": [suite.model_dump() for suite in started.suites],
        "counts": {
            "planned": summary.planned,
            "finished": total.finished,
            "scored": total.scored,
            "passed": total.passed if alone else None,
            "failed": total.failed if alone else None,
            "abandoned": total.missing,
            "lost": summary.lost(),
            "awaiting_review": total.awaiting,
            "carried_over": asking.carried_over,
        },
        "unscored": unscored_row(summary),
        "asked_again": [
            _again_as_json(each) for each in retried_evaluations(run.connection, run.run)
        ],
        "skipped_defects": run.run.skipped,
        "classes": {name: count for name, count in total.classes.items() if count}
        if alone
        else None,
        "accuracy": {
            "by_case": total.accuracy if alone else None,
            "mean_of_suites": summary.mean_of_suites() if alone else None,
        },
        "accuracy_bounds": {
            "by_case": total.accuracies.bounds if alone else None,
            "mean_of_suites": summary.mean_of_suites_bounds() if alone else None,
        },
        "by_model": model_rows(summary),
        "by_suite": suite_rows(summary),
        "gates": run.gates,
        "closings": [
            closing.model_dump(mode="json", exclude={"originator_id", "run_id", "about"})
            for closing in closings_of(run.connection, run.run_id, up_to=run.up_to)
        ],
        "validation": validation
        and validation.model_dump(
            mode="json", include={"passed", "checked", "findings", "more", "cost_usd"}
        ),
        "requests": asking.requests,
        "retries": asking.retries,
        "lost_attempts": asking.lost_attempts,
        "failed_attempts": asking.errors,
        "errors": dict(errors_by_kind(summary)),
        "error_messages": dict(errors_by_message(summary)),
        "tokens": {
            "input": spent.input.known,
            "output": spent.output.known,
            "input_unknown": spent.input.unknown,
            "output_unknown": spent.output.unknown,
        },
        "cost_usd": None if summary.cost_usd is None else float(summary.cost_usd),
        "max_spend_usd": None if (ceiling := ceiling_of(run.run)) is None else float(ceiling),
        "prices": _price_sources(run),
        "latency_ms": {"p50": summary.latency_ms(50), "p95": summary.latency_ms(95)},
    }


def _for_people(run: RecordedRun) -> dict[str, Any]:
    summary = run.summary
    started, asking, spent = run.started, summary.asking(), summary.spent
    versions = ", ".join(sorted(set(_price_sources(run).values())))
    cost = None if summary.cost_usd is None else f"${summary.cost_usd:.4f} ({versions})"
    status = run.run.status if run.run.reason is None else f"{run.run.status}: {run.run.reason}"
    return {
        "run": f"{started.run_number} {started.name}",
        "id": _id_for_people(run),
        **_imported_for_people(run),
        **_branched_for_people(run),
        "status": status if run.up_to is None else f"{status} (as of position {run.up_to})",
        "started": f"{moment(started.timestamp)} UTC by {started.who} on {started.where}",
        **({"ended": f"{moment(ended)} UTC"} if (ended := run.run.ended_at) else {}),
        "version": started.code_version,
        **({"packages": "; ".join(packages)} if (packages := describe_packages(started)) else {}),
        **({"asked": told} if (told := describe_selection(started)) else {}),
        "models asked" if run.run.imported is None else "models": _asked_for_people(started.models),
        **({"judges": _asked_for_people(started.judges)} if started.judges else {}),
        "evaluations": _evaluations_for_people(summary),
        **({"fixed outcomes": told} if (told := fixed_outcomes(run.run.validation)) else {}),
        **_skipped_for_people(run),
        "requests": f"{asking.requests}, {asking.retries} of them retries, "
        f"{asking.lost_attempts} without a recorded outcome",
        "failed attempts": _attempts_for_people(summary),
        **({"error messages": said} if (said := describe_messages(summary)) else {}),
        "tokens": f"{_told(spent.input)} in, {_told(spent.output)} out",
        "cost": cost,
        **_spent_for_people(run),
        "latency": f"p50 {_ms(summary.latency_ms(50))}, p95 {_ms(summary.latency_ms(95))}",
    }


def _spent_for_people(run: RecordedRun) -> dict[str, str]:
    """What a run with a spend ceiling has spent of it."""
    ceiling, spent = ceiling_of(run.run), run.summary.spent
    if ceiling is None:
        return {}
    return {"spent": spent_text(spent.known_usd, spent.unpriced, ceiling)}


def _evaluations_for_people(summary: RunSummary) -> str:
    """How many evaluations there are, how they ended, and why some have no score."""
    total, unscored = summary.total, summary.unscored()
    unscored.pop("awaiting_people", None)
    why = [f"{count:,} {WORDS[group]}" for group in GROUPS if (count := unscored[group])]
    people = (
        f", {summary.reviews[status]} {describe_outcome(outcome)}"
        for status, outcome in OUTCOMES.items()
        if summary.reviews.get(status)
    )
    passed = f"{total.passed} passed, " if len(summary.models) == 1 else ""
    return (
        f"{total.finished} finished of {summary.planned} planned, {total.scored} scored, "
        f"{passed}{total.missing} abandoned"
        + (f" ({'; '.join(why)})" if why else "")
        + "".join(people)
    )


def _attempts_for_people(summary: RunSummary) -> str:
    kinds = ", ".join(f"{kind} {n}" for kind, n in errors_by_kind(summary).most_common())
    return f"{summary.asking().errors} ({kinds})" if kinds else "none"


def _price_sources(run: RecordedRun) -> dict[str, str]:
    """The recorded price data, by model and judge."""
    prices = run.run.prices or {}
    return {key: each.source for key, each in prices.items() if each.source is not None}


def _asked_for_people(models: Sequence[ModelSnapshot]) -> str:
    return ", ".join(f"{each.key} ({each.provider}){describe_version(each)}" for each in models)


def _imported_for_people(run: RecordedRun) -> dict[str, Any]:
    """Where an imported run comes from, and what of its source has no place here."""
    imported = run.run.imported
    if imported is None:
        return {}
    files = ", ".join(f"{each.name} ({each.bytes:,} bytes)" for each in imported.files)
    told = {
        "imported": f"{run.run.imported_from}; {imported.answers:,} answers of {files}",
        "source sha256": imported.source_sha256,
    }
    if imported.began_at or imported.ended_at:
        told["source ran"] = f"{imported.began_at or '-'} to {imported.ended_at or '-'}"
    if imported.absent:
        told["not in source"] = plural(imported.absent, "planned evaluation")
    if imported.unmapped:
        told["not mapped"] = "; ".join(
            f"{each.what} ({each.count:,}): {each.why}" for each in imported.unmapped
        )
    return told


def _branched_for_people(run: RecordedRun) -> dict[str, Any]:
    branch = run.started.branched_from
    if branch is None:
        return {}
    source = RecordedRun.read(run.connection, branch.run_id).started
    told = {
        how_branched(branch): f"run {source.run_number} at position {branch.position}, "
        f"{plural(run.summary.asking().carried_over, 'evaluation')} carried over"
    }
    if branch.settings:
        told["other settings"] = ", ".join(f"{k} {v}" for k, v in branch.settings.items())
    carries = run.summary.asking().carried_over > 0
    if (why := chosen_by_result(run.connection, run.run, carries=carries)) is not None:
        told["rates"] = f"no gate judges them: {why}"
    if branch.again is not None:
        again = list(retried_evaluations(run.connection, run.run))
        told["asked again"] = _again_for_people(again, branch.again)
    return told


def _again_for_people(again: Sequence[RetriedEvaluation], what: Again) -> str:
    kinds = ", ".join(f"{kind} {n}" for kind, n in Counter(e.kind for e in again).most_common())
    named = [f"{each.case.suite_id}/{each.case.case_id} {each.key.model_key}" for each in again]
    more = f" and {len(named) - _NAMED:,} more (--json has all)" if len(named) > _NAMED else ""
    told = "; their second try makes the pass rate too high" if what == "failed" else ""
    return (
        f"{plural(len(again), 'evaluation')} that {_HAD[what]} ({kinds}{told}): "
        f"{', '.join(named[:_NAMED])}{more}"
    )


def _again_as_json(each: RetriedEvaluation) -> dict[str, Any]:
    return {
        "suite": each.case.suite_id,
        "case": each.case.case_id,
        "model": each.key.model_key,
        "repetition": each.key.repetition,
        "was": {"kind": each.kind, "reason": each.reason},
    }


def _skipped_for_people(run: RecordedRun) -> dict[str, Any]:
    if not run.run.skipped:
        return {}
    kept = f"{plural(run.run.skipped, 'defect')} kept cases out of the plan"
    return {"never planned": f"{kept} (`audit {run.started.run_number}` lists them)"}


def _ledger_for_people(stands: ProtectionStatus) -> dict[str, Any]:
    most = "" if stands.counted else "at most "
    return {
        "sealed": "yes" if stands.sealed else "no: the run has not ended",
        "log": f"{plural(stands.signed, 'event')} signed, {stands.anchored_outside:,} anchored "
        f"outside the database, {most}{stands.not_anchored:,} not anchored yet",
        "database": f"does not enforce: {', '.join(stands.missing_layers)}"
        if stands.missing_layers
        else "enforces every layer (`db status`)",
    }


def _people(run: RecordedRun, counts: Mapping[str, int]) -> dict[str, str]:
    """What was left to people, and how far they are; empty if nothing was."""
    if not counts:
        return {}
    told = describe_review_statuses(counts)
    how = f" (`failproof-es review {run.started.run_number}`)" if counts.get("awaiting") else ""
    return {"left to people": f"{told}{how}"}


def _workers_for_people(workers: Sequence[RunWorker], *, over: bool) -> dict[str, str]:
    """Who drove a run together; nothing of a run that one process drove alone."""
    return {"driven by": describe_workers(workers, over=over)} if workers else {}


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f} ms"


def _told(tokens: Tokens) -> str:
    return describe_tokens(tokens.known, tokens.unknown)
