"""`diff`: the differences between two runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click
import orjson

from failproof_es.cli.app.chosen_run import read_run
from failproof_es.cli.app.program import CliCommand, session
from failproof_es.cli.rendering.changed_cases import (
    LONGEST_ANSWER,
    ShownCases,
    facts_asked_once,
)
from failproof_es.cli.rendering.output import (
    Column,
    Format,
    cell,
    format_option,
    print_facts,
    print_json,
    print_rows,
    print_table,
    say,
)
from failproof_es.cli.rendering.result_texts import first_line
from failproof_es.configuration.recorded import repetitions_of
from failproof_es.core.exact_numbers import exact
from failproof_es.core.pairing import advice_on, asked_alone
from failproof_es.core.selection import why_incomparable
from failproof_es.core.tally import Group
from failproof_es.engine.related_runs.differences import (
    Absent,
    Value,
    case_differences,
    configuration_differences,
    model_differences,
    renamed_models,
)
from failproof_es.engine.related_runs.paired_results import Scores, scores_of_both
from failproof_es.reading.changed_cases import read_changes
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.reading.remarks import branch_of, remarks_on
from failproof_es.store.reading.experiments import related_runs
from failproof_es.support.class_words import class_word
from failproof_es.support.plurals import plural

if TYPE_CHECKING:
    from failproof_es.reading.overviews.compared_runs import ComparedRuns
    from failproof_es.reading.overviews.run_comparison import ComparedPair

_SIDES = ("left", "right")
_VALUES = (Column("path", "path"), Column("left", "left"), Column("right", "right"))
_GRADING = (
    Column("model", "model"),
    Column("grader", "grader"),
    Column("left version", "left"),
    Column("right version", "right"),
)
_AT_ONCE = 200
_COUNTS = ("finished", "scored", "passed")
_PAIRED = ("compared_with", "pairs", "left_of_pairs", "right_of_pairs", "unpaired", "left_out")


@click.command(cls=CliCommand)
@click.argument("left", metavar="RUN")
@click.argument("right", metavar="RUN")
@format_option()
def diff(left: str, right: str, output_format: Format) -> None:
    """Show what differs between two runs: configuration, models, cases, results.

    Each value is shown with its path, as the first RUN has it and as the second. If a case
    differs between the runs, its most important difference is shown: what is sent, how it is
    graded, or only its notes. Of the first 200 both questions or expectations are shown, with the
    answers of both runs. Results are compared on pairs: evaluations that were asked the
    same question, graded alike by the same versions of the graders, and scored in both runs. A
    prompt template and parameters are no part of the question: they may differ. Of what one run
    carries over from the other, both sides are the same evaluation: how many there are stands
    beside its name.

    Pairs that passed in one run alone come first, with both answers. `worse` passed in the first
    RUN only, `better` in the second. The table shows the first line of each answer, JSON more.
    Below it `6 → 11` is a number of the first RUN and of the second; one number is the same in
    both. Settings that both runs leave empty are in JSON alone.

    Results are read from the projections, which nobody compares with the log here: `verify RUN`
    does. As JSON, `source` says whether a run was read from the projections or from the log.
    """
    with session().open_store() as store, store.lend() as connection:
        one, other = (read_run(connection, run) for run in (left, right))
        differences = _RunDifferences(one, other)
        if output_format is Format.TABLE:
            differences.print()
        elif output_format is Format.JSON:
            print_json(differences.document(), indent=True)
        else:
            print_rows(differences.rows(), (), output_format)


class _RunDifferences:
    """All that differs between two runs, computed when it is constructed."""

    def __init__(self, left: RecordedRun, right: RecordedRun) -> None:
        attempts = related_runs(left.connection, left.run_id).attempts
        self.runs = {"left": left, "right": right}
        self.same_experiment = str(right.run_id) in {attempt.run_id for attempt in attempts}
        self.configuration = configuration_differences(left.started, right.started)
        self.models = model_differences(left.run, right.run)
        asked = [run.started.models for run in (left, right)]
        self.renamed = [*renamed_models(*asked)]
        self.pairs_any_names = max(map(len, asked)) == 1
        cases = case_differences(left.connection, left.run, right.run)
        self.cases = ShownCases(cases, read_changes(left, right, cases.changed))
        both = list(scores_of_both(left.connection, left.run_id, right.run_id))
        self.results = list(_results(left, right, both))
        self.alone = [asked_alone(of_model.unpaired) for of_model in both if of_model.pairs]
        self.advice = advice_on(unpaired for scores in both for unpaired in scores.unpaired)
        self.grading = list(_grading(both))
        self.changed, self.why_not = _changed(left, right, self.results)
        self.unchanged = _unchanged(both)
        self.incomparable = why_incomparable(left.chosen_by_result, right.chosen_by_result)

    def document(self) -> dict[str, Any]:
        """All differences as one object for JSON: the object that `diff --json` prints."""
        return {
            **{
                side: {
                    "run_id": str(run.run_id),
                    "run_number": run.started.run_number,
                    "name": run.started.name,
                    "code_version": run.started.code_version,
                    "dialect": run.started.dialect,
                    "source": run.reader.source,
                    "imported": run.run.imported_from,
                    "branch": branch_of(run),
                    "carried_over": run.summary.asking().carried_over,
                }
                for side, run in self.runs.items()
            },
            "same_experiment": self.same_experiment,
            "incomparable": self.incomparable,
            "configuration": [_value(difference) for difference in self.configuration],
            "models": [_value(difference) for difference in self.models],
            "cases": self.cases.document(),
            "grading": self.grading,
            "results": self.results,
            "changed": self.changed,
        }

    def rows(self) -> Iterator[dict[str, Any]]:
        """One object for each difference, and for each model's results; `kind` says which."""
        for kind, values in (("configuration", self.configuration), ("model", self.models)):
            yield from ({"kind": kind, **_value(difference)} for difference in values)
        yield from ({"kind": "case", **row} for row in self.cases.rows())
        yield from ({"kind": "grading", **row} for row in self.grading)
        yield from ({"kind": "results", **row} for row in self.results)
        yield from ({"kind": "changed", **row} for row in self.changed or ())

    def print(self) -> None:
        """Print all differences on stdout as facts and tables."""
        numbers = [run.started.run_number for run in self.runs.values()]
        print_facts(
            {side: ", ".join(_describe_run(run)) for side, run in self.runs.items()}
            | {
                "experiment": "the same"
                if self.same_experiment
                else "another one: cases, models or judges differ",
                "cases": self.cases.describe(),
            }
            | dict(facts_asked_once(numbers, self.alone))
        )
        self._print_changed()
        print_table(self._result_rows(), self._result_columns(), title="results")
        if self.advice is not None:
            say(self.advice)
        for one, other in self.renamed:
            if self.pairs_any_names:
                say(f"{one} and {other} are set alike: their names alone differ")
            else:
                say(
                    f"{one} and {other} are set alike, but not compared: their names differ. The "
                    "page `compare` of `failproof-es console` compares them"
                )
        if self.grading:
            print_table(self.grading, _GRADING, title="graded otherwise, and so not compared")
        self.cases.print()
        for title, values in (("configuration", self.configuration), ("models", self.models)):
            if shown := [row for row in map(_format_value, values) if row["left"] != row["right"]]:
                print_table(shown, _VALUES, title=title)

    def _print_changed(self) -> None:
        """Print the pairs that passed in one run alone, each with the answers of both."""
        if self.changed is None:
            say(f"which evaluations went better or worse cannot be listed: {self.why_not}")
        elif self.changed:
            worse = sum(row["what"] == "worse" for row in self.changed)
            better = len(self.changed) - worse
            title = f"passed in one run alone: {worse:,} worse, {better:,} better"
            self._say_how_sure()
            several = len(self.results) > 1
            columns = [
                *([Column("model", "model")] if several else []),
                *(Column(name, name) for name in ("suite", "case", "what")),
                *(Column(side, f"{side}_shown", folds=True) for side in _SIDES),
            ]
            print_table(map(_changed_for_people, self.changed), columns, title=title)
        elif self.unchanged is not None:
            click.echo(f"passed in one run alone: {self.unchanged}")

    def _say_how_sure(self) -> None:
        """Say where to read whether the difference may be chance, or why nobody can tell."""
        one, other = (run.started.run_number for run in self.runs.values())
        if self.incomparable is None:
            say(f"`failproof-es report {one} {other}` says whether the difference may be chance")
        else:
            say(f"which run is better cannot be told: {self.incomparable}")

    def _result_columns(self) -> list[Column]:
        columns = [Column("model", "model"), *(Column(name, name) for name in _COUNTS)]
        if any(
            row[f"{side}_correct"] != row[f"{side}_passed"]
            for row in self.results
            for side in _SIDES
        ):
            columns.append(Column("accuracy, summed", "correct"))
        return [
            *columns,
            Column("pairs", "pairs", right=True),
            Column("correct of pairs", "of_pairs"),
            Column("not compared", "left_out", folds=True),
        ]

    def _result_rows(self) -> Iterator[dict[str, Any]]:
        """The results for the table: a model and its counterpart of another name are one row."""
        by_model = {row["model"]: row for row in self.results}
        counterparts = {
            row["compared_with"]
            for row in self.results
            if row["left_finished"] is not None and row["compared_with"] != row["model"]
        }
        for row in self.results:
            if row["left_finished"] is None and row["model"] in counterparts:
                continue
            other = by_model.get(row["compared_with"], row)
            names = (row["model"], other["model"])
            yield {
                "model": _both(*names),
                **{
                    name: _both(row[f"left_{name}"], other[f"right_{name}"])
                    for name in (*_COUNTS, "correct")
                },
                "pairs": row["pairs"],
                "of_pairs": _both(row["left_of_pairs"], row["right_of_pairs"]),
                "left_out": row["left_out"],
            }


def _describe_run(run: RecordedRun) -> Iterator[str]:
    """The run's number, name and id, then the remarks on it."""
    yield f"run {run.started.run_number} {run.started.name} ({run.run_id})"
    yield from remarks_on(run)
    if count := run.summary.asking().carried_over:
        yield f"{plural(count, 'evaluation')} carried over"


def _grading(both: Sequence[Scores]) -> Iterator[dict[str, Any]]:
    """For each model, the graders whose versions differ on evaluations that both runs scored.

    Each row has the keys `model`, `grader`, `left` and `right`.
    """
    for scores in both:
        for other in scores.other_versions:
            yield {
                "model": scores.model,
                "grader": other.grader,
                "left": other.first,
                "right": other.second,
            }


def _results(
    left: RecordedRun, right: RecordedRun, scores: Sequence[Scores]
) -> Iterator[dict[str, Any]]:
    """A row for each model: its results in both runs, and on the pairs of evaluations.

    A pair was asked and graded alike in both runs. The numbers of a run that did not ask the model
    are `None`.
    """
    one, other = _by_model(left), _by_model(right)
    both = {model_scores.model: model_scores for model_scores in scores}
    for model in dict.fromkeys((*one, *other)):
        row: dict[str, Any] = {"model": model}
        for side, facts in (("left", one.get(model)), ("right", other.get(model))):
            for name in _COUNTS:
                row[f"{side}_{name}"] = None if facts is None else getattr(facts, name)
            row[f"{side}_correct"] = None if facts is None else float(facts.accuracy_sum)
        yield row | _paired_results(both.get(model))


Changed = list[dict[str, Any]]
"""Pairs of evaluations that passed in only one of the runs."""


def _changed(
    left: RecordedRun, right: RecordedRun, results: Sequence[dict[str, Any]]
) -> tuple[Changed | None, str]:
    """The pairs that passed in only one of the runs, by model, worse ones first.

    Or `None`, and why they cannot be listed. `results` are rows of `_results`.
    """
    if left.reader.source == "log" or right.reader.source == "log":
        return None, "the projections are not up to date (`failproof-es projections status`)"
    from failproof_es.reading.overviews.compared_runs import ComparedRuns
    from failproof_es.reading.overviews.run_comparison import Side

    compared = ComparedRuns(left.connection, left.run_id, right.run_id, most_read=None)
    changes: Changed = []
    for row in results:
        if row["compared_with"] is None:
            continue
        base = Side(left.run_id, row["model"], repetitions_of(left.started))
        other = Side(right.run_id, row["compared_with"], repetitions_of(right.started))
        with left.connection.transaction():
            pairs = list(compared.pairs(base, other, "discordant"))
        for start in range(0, len(pairs), _AT_ONCE):
            changes += _with_answers(compared, row["model"], pairs[start : start + _AT_ONCE])
    return changes, ""


def _unchanged(both: Sequence[Scores]) -> str | None:
    """A sentence if no pair passed in one run alone; `None` without pairs."""
    pairs = [pair for scores in both if scores.counterpart is not None for pair in scores.pairs]
    if not pairs:
        return None
    is_same = all(pair.now == pair.before for pair in pairs)
    return f"none of {plural(len(pairs), 'pair')}{': no better, no worse' if is_same else ''}"


def _with_answers(
    compared: ComparedRuns, model: str, pairs: Sequence[ComparedPair]
) -> Iterator[dict[str, Any]]:
    ids = [id_ for pair in pairs for id_ in (pair.base_evaluation_id, pair.other_evaluation_id)]
    answers = compared.answers(ids, LONGEST_ANSWER)
    for pair in pairs:
        one, two = answers[pair.base_evaluation_id], answers[pair.other_evaluation_id]
        yield {
            "model": model,
            "suite": pair.suite,
            "case": pair.case,
            "repetition": pair.repetition,
            "what": "better" if pair.other_passed else "worse",
            "left_class": pair.base_class,
            "right_class": pair.other_class,
            "left_answer": one.answer,
            "right_answer": two.answer,
            "left_cut": one.answer_cut,
            "right_cut": two.answer_cut,
            "left_reason": one.reason,
            "right_reason": two.reason,
        }


def _changed_for_people(row: dict[str, Any]) -> dict[str, Any]:
    """A pair that passed in one run only, for the table: of each side the class and the first line
    of the answer."""
    return row | {f"{side}_shown": _class_and_answer(row, side) for side in _SIDES}


def _class_and_answer(row: dict[str, Any], side: str) -> str:
    name, passed = row[f"{side}_class"], (row["what"] == "worse") is (side == "left")
    word = "-" if name is None else class_word(name, passed)
    return f"{word}: {first_line(row[f'{side}_answer'])}"


def _both(left: Any, right: Any) -> str | None:
    """A value of both runs in one cell: `6 → 11`, or one value that is the same in both."""
    return cell(left) if left == right else f"{cell(left)} → {cell(right)}"


def _paired_results(both: Scores | None) -> dict[str, Any]:
    """A model's results on the questions that it and its counterpart both have a score for.

    The counterpart is the other run's model; without one, every number is `None`.
    """
    if both is None or both.counterpart is None:
        return {**dict.fromkeys(_PAIRED), "unpaired": []}
    return {
        "compared_with": both.counterpart,
        "pairs": len(both.pairs),
        "left_of_pairs": float(sum(exact(pair.now) for pair in both.pairs)),
        "right_of_pairs": float(sum(exact(pair.before) for pair in both.pairs)),
        "unpaired": [
            {"why": unpaired.why, "left": unpaired.first, "right": unpaired.second}
            for unpaired in both.unpaired
        ],
        "left_out": "; ".join(unpaired.describe() for unpaired in both.unpaired),
    }


def _by_model(run: RecordedRun) -> dict[str, Group]:
    """The counted results of each model, over all its suites, by the model's key."""
    return {model: run.summary.group(model=model) for model in run.summary.models}


def _value(value: Value) -> dict[str, Any]:
    """A difference of configurations or models as JSON: `path`, `left`, `right`.

    A side without a value has no key.
    """
    sides = {"left": value.left, "right": value.right}
    present_sides = {side: it for side, it in sides.items() if not isinstance(it, Absent)}
    return {"path": value.path, **present_sides}


def _format_value(value: Value) -> dict[str, Any]:
    """A difference of configurations or models for the table, each value as text.

    A side that is absent or empty is `-`, so that two such sides are alike.
    """
    document = _value(value)
    return {"path": value.path} | {side: _value_text(document.get(side)) for side in _SIDES}


def _value_text(value: Any) -> str:
    """A value as text: of a mapping the keys that are set, `provider openai, temperature 0`."""
    match value:
        case None | []:
            return "-"
        case dict():
            texts = ((key, _value_text(child)) for key, child in value.items())
            return ", ".join(f"{key} {text}" for key, text in texts if text != "-") or "-"
        case str():
            return value
        case _:
            return orjson.dumps(value).decode()
