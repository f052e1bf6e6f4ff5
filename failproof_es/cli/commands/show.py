"""`show`: the summary of one run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import click

from failproof_es.assurance.protection_status import ProtectionStatus
from failproof_es.catalogue.run import Annotation, AskedAgain, Imported, RunDocument, Spending
from failproof_es.catalogue.run_document import run_document
from failproof_es.catalogue.wording import describe_version, judge_named, usd, usd_at_least
from failproof_es.cli.app.as_of import as_of_option
from failproof_es.cli.app.chosen_run import read_run
from failproof_es.cli.app.errors import ExitCode
from failproof_es.cli.app.program import CliCommand, session
from failproof_es.cli.app.run_end import say_where_to_look
from failproof_es.cli.rendering.findings import finding_lines, fixed_outcomes
from failproof_es.cli.rendering.output import (
    Column,
    Format,
    columns_of_keys,
    format_option,
    moment,
    print_facts,
    print_json,
    print_line,
    print_table,
    say,
)
from failproof_es.cli.rendering.people_table import print_people
from failproof_es.cli.rendering.suite_table import print_suites
from failproof_es.configuration.recorded import recorded_configuration
from failproof_es.core.case import run_id
from failproof_es.core.costs import TokenCount, describe_tokens
from failproof_es.core.people import OUTCOMES, describe_outcome
from failproof_es.core.run import describe_selection, how_branched
from failproof_es.core.selection import describe_cases
from failproof_es.core.summary import RunSummary
from failproof_es.core.unscored import GROUPS, WORDS
from failproof_es.engine.related_runs.attempts import GATES, RelatedRun
from failproof_es.engine.required_plugins import describe_packages
from failproof_es.engine.reviews.people import describe_review_statuses
from failproof_es.events import Again, ModelSnapshot
from failproof_es.gate_words import gate_line
from failproof_es.reading.as_of import read_as_of
from failproof_es.reading.failure_reasons import failure_reasons
from failproof_es.reading.jury import JudgeFigure
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.reading.summary_rows import describe_messages, errors_by_kind
from failproof_es.reading.workers import describe_workers
from failproof_es.support.plurals import plural

_MOST_LISTED = 10
"""Most evaluations that are listed for people."""
_HAD: Mapping[Again, str] = {
    "abandoned": "had been abandoned",
    "errors": "had ended with an error",
    "failed": "had failed",
}
_SUITE_FILES = (
    Column("suite file", "path"),
    Column("cases", "cases", right=True),
    Column("sha256", "sha256", folds=True),
)
_JURY = (
    *columns_of_keys("judge"),
    *columns_of_keys("asked", "verdicts", "decisive", "answers", "cost", right=True),
)
_RELATED_RUN_COLUMNS = (
    Column("run", "run_number", right=True),
    *columns_of_keys("attempt", right=True),
    *columns_of_keys("name", "status"),
    Column("started", "started_at"),
    Column("finished", "finished_shown", right=True),
    *columns_of_keys("scored", right=True),
    *columns_of_keys("gates"),
    Column("same cases", "shared_cases", right=True),
)


@click.command(cls=CliCommand)
@click.argument("run")
@as_of_option("Show the run as it was at a position of the log or at a time.")
@format_option()
def show(run: str, as_of: str | None, output_format: Format) -> None:
    """Show the facts of RUN: who, when, what was asked, and the results.

    A finished evaluation was scored, abandoned, or left to people. Its dialect says whether a
    score passes or fails. An abandoned evaluation ended without a score. Some of these are lost,
    because no usable answer came. Failed requests got no usable reply. Most of
    them are sent again. Evaluations that were left to people await review until somebody
    reviews them; their own table shows what people decided.

    All runs that asked the same cases, or many of them, are counted. The newest 20 are named
    here, and all of them in a report.

    Of several judges, the decisive ones are counted: without this judge the decision on so many
    evaluations would be another one.
    """
    with session().open_store() as store, store.lend() as connection:
        if not show_run(read_run(connection, run, as_of), output_format):
            click.get_current_context().exit(ExitCode.FAILED)


def show_run(run: RecordedRun, output_format: Format) -> bool:
    """Print a run's facts as of `run.up_to`; return false if its record contradicts itself.

    Contradictions are reported on stderr.
    """
    as_json = output_format is not Format.TABLE  # a table shows no intervals
    as_of = read_as_of(run.connection, run.reader)
    document = run_document(run, as_of, intervals=as_json)
    if as_json:
        print_json(document.model_dump(mode="json"), indent=output_format is Format.JSON)
        return _say_impossible(run)
    attempts = document.attempts
    print_facts({name: fact for name, fact in _facts(run, document).items() if fact != ""})
    for heading, related, before in (
        ("other attempts", attempts.others, attempts.others_before),
        ("runs that share many cases", attempts.overlapping, attempts.overlapping_before),
    ):
        if before:
            heading += f", the newest {len(related)} of {len(related) + before:,}"
        if related:
            print_table(map(_other_row, related), _RELATED_RUN_COLUMNS, title=heading)
        for other in related:
            if other.unreadable is not None:
                say(f"run {other.run_number} cannot be read: {other.unreadable}")
    files = ({**suite.model_dump(), "cases": describe_cases(suite)} for suite in document.suites)
    print_table(files, _SUITE_FILES)
    print_suites(run.summary)
    if (line := failure_reasons(run).describe()) is not None:
        print_line(f"failed evaluations: {line}")
    print_people(document.by_people)
    if document.jury:
        print_table(map(_judge_row, document.jury), _JURY)
    for name, gate in document.gates.items():
        print_line(gate_line(name, gate))
    if run.awaits_closing:
        print_line(
            "gates on rates: people decide them, "
            f"`failproof-es review close {run.started.run_number}` judges them"
        )
    if run.run.validation is not None:
        for line in finding_lines(run.run.validation):
            print_line(line)
    say_where_to_look(run.summary)
    return _say_impossible(run)


def _judge_row(judge: JudgeFigure) -> dict[str, Any]:
    cost = usd_at_least(judge.cost_usd, judge.possibly_charged)
    return judge.model_dump() | {"judge": judge_named(judge.judge), "cost": cost}


def _say_impossible(run: RecordedRun) -> bool:
    """Report on stderr which evaluations' records contradict themselves; true if none do."""
    impossible = run.summary.counts.impossible
    if not impossible:
        return True
    for evaluation in run.reader.impossible(run.run, limit=_MOST_LISTED):
        say(f"error: impossible_history: {evaluation.impossible}")
    wrong = plural(impossible, "evaluation")
    say(
        f"the record of {wrong} is contradictory: `failproof-es verify` shows whether it was "
        "changed"
    )
    return False


def _other_row(other: RelatedRun) -> dict[str, Any]:
    finished, planned = (
        "-" if count is None else count for count in (other.finished, other.planned)
    )
    return {
        **asdict(other),
        "finished_shown": f"{finished}/{planned}",
        "gates": GATES[other.gates_met],
    }


def _id_for_people(run: RecordedRun) -> str:
    """The run's UUID; before it the configured id that it was derived from, if there is one."""
    configured_id = recorded_configuration(run.started).test_run.id
    made = (
        configured_id is not None
        and run_id(configured_id) == run.run_id
        and configured_id != str(run.run_id)
    )
    return f"{configured_id} ({run.run_id})" if made else str(run.run_id)


def _annotation_for_people(annotation: Annotation | None) -> dict[str, Any]:
    """The facts of a run that people gave it; empty without any."""
    if annotation is None:
        return {}
    return {
        "named": annotation.name or "",
        "tags": ", ".join(annotation.tags),
        "note": annotation.note or "",
        "hidden": "lists leave it out; it counts as an attempt" if annotation.hidden else "",
    }


def _facts(run: RecordedRun, document: RunDocument) -> dict[str, Any]:
    """The facts to print by name, in this order; an empty text is left out."""
    started, summary, counts = run.started, run.summary, document.counts
    versions = ", ".join(sorted(set(document.price_sources.values())))
    cost = _cost_for_people(document.spending, versions)
    undriven = document.undriven
    reason = document.reason if undriven is None else undriven.describe(document.run_number)
    status = document.status if reason is None else f"{document.status}: {reason}"
    spent, ended, by_result = summary.spent, document.ended_at, document.chosen_by_result
    return {
        "run": f"{document.run_number} {document.name}",
        **_annotation_for_people(document.annotation),
        "id": _id_for_people(run),
        **_imported_for_people(document.imported),
        **_branched_for_people(document),
        "rates": ""
        if by_result is None
        else f"no gate judges them, and nothing is compared: {by_result}",
        "status": status if run.up_to is None else f"{status} (as of position {run.up_to})",
        "started": f"{moment(document.started_at)} UTC by {document.who} on {document.where}",
        "clock": document.times_apart or "",
        "ended": f"{moment(ended)} UTC" if ended else "",
        "version": document.code_version,
        "packages": "; ".join(describe_packages(started)),
        "asked": describe_selection(started) or "",
        "models asked" if document.imported is None else "models": _describe_models(
            document.models
        ),
        "judges": _describe_models(document.judges),
        "calibration": document.judges_measured or "",
        "evaluations": _evaluations_for_people(summary),
        "fixed outcomes": fixed_outcomes(run.run.validation),
        "never planned": _skipped_for_people(document),
        "requests": f"{counts.requests}, {counts.retries} of them retries, "
        f"{counts.orphaned_requests} orphaned (no recorded outcome)",
        "failed requests": _failed_for_people(summary),
        "request errors": describe_messages(summary),
        "tokens": f"{_format_tokens(spent.input)} in, {_format_tokens(spent.output)} out",
        "cost": cost,
        "spent": document.spending.of_ceiling or "",
        "latency": f"p50 {_ms(document.latency_p50_ms)}, p95 {_ms(document.latency_p95_ms)}",
        "left to people": _people(document),
        "driven by": describe_workers(document.workers, over=run.run.ended)
        if document.workers
        else "",
        "attempt": document.attempts.describe(),
        **_ledger_for_people(document.protection, document.run_number),
    }


def _cost_for_people(spending: Spending, versions: str) -> str | None:
    """The cost with the prices' versions, and the most that it may be; `None` if it is unknown."""
    if spending.cost_usd is None:
        return None
    text = usd_at_least(spending.cost_usd, spending.possibly_charged)
    if spending.possibly_charged:
        most = "" if spending.most_usd is None else f", at most {usd(spending.most_usd)}"
        requests = plural(spending.possibly_charged, "request")
        text += f"{most}: {requests} without an answer may have been charged"
    return f"{text} ({versions})"


def _evaluations_for_people(summary: RunSummary) -> str:
    """Numbers of evaluations, their endings, and the reasons for missing scores, as one text."""
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


def _failed_for_people(summary: RunSummary) -> str:
    kinds = ", ".join(f"{kind} {n}" for kind, n in errors_by_kind(summary).most_common())
    return f"{summary.asking().errors} ({kinds})" if kinds else "none"


def _describe_models(models: Sequence[ModelSnapshot]) -> str:
    return ", ".join(f"{model.key} ({model.provider}){describe_version(model)}" for model in models)


def _imported_for_people(imported: Imported | None) -> dict[str, str]:
    """The origin of an imported run, and what was not imported, as facts to print.

    Empty if the run was not imported.
    """
    if imported is None:
        return {}
    files = ", ".join(f"{file.name} ({file.bytes:,} bytes)" for file in imported.files)
    ran = f"{imported.began_at or '-'} to {imported.ended_at or '-'}"
    unmapped = (f"{part.what} ({part.count:,}): {part.why}" for part in imported.unmapped)
    return {
        "imported": f"{imported.says}; {imported.answers:,} answers of {files}",
        "source sha256": imported.source_sha256,
        "source ran": ran if imported.began_at or imported.ended_at else "",
        "not in source": plural(imported.absent, "planned evaluation") if imported.absent else "",
        "not mapped": "; ".join(unmapped),
    }


def _branched_for_people(document: RunDocument) -> dict[str, str]:
    branch = document.branched_from
    if branch is None:
        return {}
    again = branch.again
    return {
        how_branched(branch.reuse): f"run {branch.run_number} at position {branch.position}, "
        f"{plural(document.counts.carried_over, 'evaluation')} carried over",
        "other settings": ", ".join(f"{k} {v}" for k, v in branch.settings.items()),
        "asked again": "" if again is None else _again_for_people(branch.asked_again, again),
    }


def _again_for_people(again: Sequence[AskedAgain], what: Again) -> str:
    counts = Counter(evaluation.ended_as for evaluation in again).most_common()
    kinds = ", ".join(f"{kind} {n}" for kind, n in counts)
    names = [f"{evaluation.suite}/{evaluation.case} {evaluation.model}" for evaluation in again]
    more = (
        f" and {len(names) - _MOST_LISTED:,} more (--json has all)"
        if len(names) > _MOST_LISTED
        else ""
    )
    remark = "; their second try makes the pass rate too high" if what == "failed" else ""
    return (
        f"{plural(len(again), 'evaluation')} that {_HAD[what]} ({kinds}{remark}): "
        f"{', '.join(names[:_MOST_LISTED])}{more}"
    )


def _skipped_for_people(document: RunDocument) -> str:
    if not document.skipped_defects:
        return ""
    defects = f"{plural(document.skipped_defects, 'defect')} kept cases out of the plan"
    return f"{defects} (`audit {document.run_number}` lists them)"


def _ledger_for_people(status: ProtectionStatus, run_number: int) -> dict[str, Any]:
    most = "" if status.counted else "at most "
    return {
        "sealed": f"yes; `verify {run_number}` says whether it was changed"
        if status.sealed
        else "no: the run has not ended",
        "log": f"{plural(status.signed, 'event')} signed, {status.anchored_outside:,} anchored "
        f"outside the database, {most}{status.not_anchored:,} not anchored yet",
        "database": f"does not enforce: {', '.join(status.missing_layers)}"
        if status.missing_layers
        else "enforces every layer (`db status`)",
    }


def _people(document: RunDocument) -> str:
    """Numbers of the evaluations left to people, by state of review; empty if there are none."""
    counts = Counter(document.reviews)
    if not any(counts.values()):
        return ""
    statuses = describe_review_statuses(counts)
    how = f" (`failproof-es review {document.run_number}`)" if counts["awaiting"] else ""
    return f"{statuses}{how}"


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f} ms"


def _format_tokens(tokens: TokenCount) -> str:
    return describe_tokens(tokens.reported_total, tokens.unknown)
