"""`results`: one object, or one line, per evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from failproof_es.cli.junit import junit_option, write_junit
from failproof_es.cli.output import (
    Column,
    Format,
    format_option,
    print_json,
    print_json_list,
    print_table,
    say,
)
from failproof_es.cli.program import Command, session
from failproof_es.cli.result_rows import result_rows, run_shape_of, shape_of
from failproof_es.cli.sanitise import one_line, shortened
from failproof_es.cli.suite_table import gate_line
from failproof_es.dialects.scorers import names_of_scorers
from failproof_es.engine.plugins_of_run import require_dialect
from failproof_es.engine.reviews import standing_of, standing_told
from failproof_es.evaluation import Evaluation, awaits_review
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.store.reader import resolve_run

ANSWER_WIDTH = 60

_COLUMNS = (
    Column("suite", "suite"),
    Column("case", "case"),
    Column("model", "model"),
    Column("class", "class"),
    Column("accuracy", "accuracy", right=True),
    Column("answer", "answer"),
)
_COLUMNS_WITH_ADDED = (*_COLUMNS[:-1], Column("added by scorers", "added"), _COLUMNS[-1])


@click.command(cls=Command)
@click.argument("run")
@click.option(
    "--shape", metavar="NAME", help="Another shape than the dialect's own, where it has one."
)
@junit_option
@format_option()
def results(run: str, shape: str | None, junit: Path | None, output_format: Format) -> None:
    """Print the results of RUN, in plan order.

    As JSON each evaluation is an object in its dialect's own shape, nothing shortened; the
    table shows the first line of each answer, and the numbers that scorers added. A shape of
    whole runs, such as evaluation-result of the command dialect, gives one object for each
    model, or a summary; as JSON a list, or that object where there is one alone.
    """
    with session().open_store() as store, store.connect() as connection:
        recorded = RecordedRun.read(connection, resolve_run(connection, run))
        whole = None
        if shape is not None or output_format is not Format.TABLE:
            # What can't be had is refused before anything is written or printed. The table is
            # read from the record alone: no dialect is needed for it.
            require_dialect(recorded.started)
            whole = run_shape_of(recorded.started.dialect, shape)
            if whole is None:
                shape_of(recorded.started.dialect, shape)
        if junit is not None:
            write_junit(store, [recorded], junit)
        if output_format is Format.TABLE and whole is not None:
            for result in result_rows(recorded, shape):
                for line in whole.lines(result):
                    click.echo(one_line(line))
        elif output_format is Format.TABLE:
            added = bool(names_of_scorers(recorded.started.configuration))
            print_table(_table_rows(recorded), _COLUMNS_WITH_ADDED if added else _COLUMNS)
        elif output_format is Format.JSON and whole is not None:
            summed_up = list(result_rows(recorded, shape))
            print_json(summed_up[0] if len(summed_up) == 1 else summed_up)
        elif output_format is Format.JSON:
            print_json_list(result_rows(recorded, shape))
        else:
            for row in result_rows(recorded, shape):
                print_json(row)
        for name, gate in (recorded.run.gates or {}).items():
            if not gate["met"]:
                say(gate_line(name, gate))


def _table_rows(run: RecordedRun) -> Iterator[dict[str, Any]]:
    for recorded in run.evaluations():
        state = recorded.state()
        row: dict[str, Any] = {
            "suite": recorded.case.suite_id,
            "case": recorded.case.case_id,
            "model": recorded.key.model_key,
            "class": state.classification.primary if state.classification else None,
            "accuracy": state.score.scores.get("accuracy") if state.score else None,
            "added": _added(state),
            "answer": None,
        }
        if awaits_review(state):
            row["answer"] = (
                f"({standing_told(standing_of(run.connection, [recorded.key.evaluation_id]))})"
            )
        elif state.abandoned is not None:
            row["answer"] = f"({state.abandoned.kind}: {state.abandoned.reason})"
        elif state.replies:
            row["answer"] = first_line(state.replies[-1].text)
        yield row


def _added(state: Evaluation) -> str | None:
    """The numbers that scorers added, each with its name."""
    if state.score is None:
        return None
    numbers = ((name, state.score.scores[name]) for name in state.score.graders)
    return ", ".join(f"{name} {value:.4g}" for name, value in numbers) or None


def first_line(text: str) -> str:
    """The first line of an answer that says anything, sanitised and shortened for a table."""
    line = next((line for line in text.split("\n") if line.strip()), "")
    return shortened(one_line(line.strip()), ANSWER_WIDTH)
