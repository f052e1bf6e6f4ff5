"""`replay`: derive every recorded decision again, or show a run at a past position."""

from __future__ import annotations

import base64
from typing import Any

import click
import orjson

from failproof_es.assurance.tree_as_of import TreeAsOf, tree_as_of
from failproof_es.cli.app.as_of import as_of_option, position_of
from failproof_es.cli.app.errors import ExitCode
from failproof_es.cli.app.program import CliCommand, session
from failproof_es.cli.commands.show import show_run
from failproof_es.cli.rendering.output import (
    Format,
    columns_of_keys,
    format_option,
    print_json,
    print_table,
    say,
)
from failproof_es.engine.history import read_run
from failproof_es.engine.replays.replay import ReplayDifference, ReplayReport
from failproof_es.engine.replays.replay import replay as replay_run
from failproof_es.engine.required_plugins import other_versions
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.store.reading.reader import resolve_run
from failproof_es.support.plurals import plural
from failproof_es.support.untrusted_text import one_line, shortened

_MOST_LISTED = 100
_VALUE_WIDTH = 48

_COLUMNS = columns_of_keys("suite", "case", "model", "what", "recorded", "derived")


@click.command(cls=CliCommand)
@click.argument("run")
@as_of_option("Also show the run as it was at a position of the log or at a time.")
@format_option()
def replay(run: str, as_of: str | None, output_format: Format) -> None:
    """Score the recorded answers of RUN again, and compare with the record.

    Every classification and score is derived again. No model is asked and nothing is written.
    Exits 1 when a result differs from the recorded one.
    """
    tree = None
    with session().open_store() as store:
        with store.lend() as connection:
            run_id = resolve_run(connection, run)
            position = None if as_of is None else position_of(connection, as_of)
            if position is not None:
                tree = tree_as_of(connection, position)
                recorded = RecordedRun.read(connection, run_id, position)
                if output_format is Format.TABLE:
                    show_run(recorded, output_format)
            for line in other_versions(read_run(connection, run_id).started):
                say(f"remark: {line}")
        report = replay_run(store, run_id, as_of=position)
    if output_format is Format.TABLE:
        _print(report)
        if position is not None:
            _remark_on(tree, position)
    else:
        print_json(as_json(report) | _tree_fields(tree), indent=output_format is Format.JSON)
    if report.differences:
        click.get_current_context().exit(ExitCode.FAILED)


def as_json(report: ReplayReport) -> dict[str, Any]:
    """The report as the object that `replay --json` prints."""
    return {
        "run_id": str(report.run_id),
        "run_number": report.run_number,
        "as_of": report.as_of,
        "evaluations": report.evaluations,
        "agree": report.agree,
        "differ": len(report.differences),
        "not_finished": report.not_finished,
        "classes": report.classes,
        "other_versions": [
            {
                "grader": other.grader,
                "recorded": other.first,
                "derived": other.second,
                "evaluations": count,
            }
            for other, count in report.other_versions.items()
        ],
        "differences": report.differences,
    }


def _tree_fields(tree: TreeAsOf | None) -> dict[str, Any]:
    """Size and root of the tree, under `tree_size` and `tree_root`; both `None` without a tree.

    The root is in base64, as in a checkpoint.
    """
    if tree is None:
        return {"tree_size": None, "tree_root": None}
    return {"tree_size": tree.size, "tree_root": base64.b64encode(tree.root).decode()}


def _remark_on(tree: TreeAsOf | None, position: int) -> None:
    if tree is None:
        remark = "not integrated yet; if a checkpoint covers it, ask verify why"
    else:
        fields = _tree_fields(tree)
        remark = f"size {fields['tree_size']}, root {fields['tree_root']}"
    click.echo(f"tree as of position {position}: {remark}", err=True)


def _print(report: ReplayReport) -> None:
    differ = len(report.differences)
    if differ:
        rows = [row for difference in report.differences for row in _rows(difference)]
        print_table(rows[:_MOST_LISTED], _COLUMNS)
        if len(rows) > _MOST_LISTED:
            click.echo(f"… and {len(rows) - _MOST_LISTED} more: --json prints them all")
    for other, count in report.other_versions.items():
        click.echo(
            one_line(
                f"graded otherwise: {plural(count, 'evaluation')} by {other.grader} "
                f"{other.first} on record, by {other.second} now"
            )
        )
    click.echo(
        f"run {report.run_number}: {report.agree} of {report.evaluations} evaluations agree with "
        f"the record, {differ} differ, {report.not_finished} not finished; no model was asked"
    )


def _rows(difference: ReplayDifference) -> list[dict[str, Any]]:
    return [
        {
            "suite": difference.suite_id,
            "case": difference.case_id,
            "model": difference.model_key,
            "what": disagreement.what,
            "recorded": _value(disagreement.recorded),
            "derived": _value(disagreement.derived),
        }
        for disagreement in difference.disagreements
    ]


def _value(value: dict[str, Any]) -> str:
    """A recorded or derived decision as JSON, shortened for the table."""
    return shortened(one_line(orjson.dumps(value).decode()), _VALUE_WIDTH)
