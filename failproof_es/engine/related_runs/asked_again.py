"""Reads which evaluations a chain of branches asked again because of their results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from failproof_es.core.evaluation import EvaluationKey, fold
from failproof_es.core.run import Run
from failproof_es.core.selection import ChosenByResult, chosen_by_score
from failproof_es.core.summary import RunSummary
from failproof_es.core.unscored import BY_ANSWER, unscored_group
from failproof_es.engine.history import Connection, planned_windows, read_chunk, read_run
from failproof_es.engine.related_runs.carried_over import (
    FinishedEvaluation,
    carries_over,
    endings,
    last_position,
)
from failproof_es.events import Branch
from failproof_es.gates import ASKED_ONCE, RetryBias
from failproof_es.store.reading.reader import read_streams

_Ended = Mapping[EvaluationKey, FinishedEvaluation]


def read_asked_again(connection: Connection, run: Run, summary: RunSummary) -> RetryBias:
    """The bias of a finished run from evaluations that were asked again because of their results.

    Counts those of the run and of every run that it carries answers over from. Asking `failed`
    evaluations again chooses by the score: no rate of such a run is a measurement. Asking
    evaluations without a score again chooses by no score, so the rates hold. But an evaluation that
    its own answer left without a score (`BY_ANSWER`) stays counted as such: else asking until it
    has a score would take it out of the count. Evaluations lost to a server or a judge may be asked
    again.
    """
    carries = summary.asking().carried_over > 0
    by_result = chosen_by_result(connection, run, carries=carries)
    reason = None if by_result is None else by_result.reason
    if run.started.branched_from is None:
        return ASKED_ONCE if reason is None else RetryBias(reason)
    here: set[EvaluationKey] = set()
    before: set[EvaluationKey] = set()
    own = run.started.originator_id
    for of, branch in _chain(connection, run, carries):
        if branch.again in ("abandoned", "errors") or _repeats_experiment(connection, of, branch):
            for key in _unscored_by_answer(connection, of, branch):
                (here if of is run else before).add(replace(key, run_id=own))
    return RetryBias(reason, _scored_since(connection, run, here, before))


def chosen_by_result(connection: Connection, run: Run, *, carries: bool) -> ChosenByResult | None:
    """Why no rate of the run is a measurement; `None` if the rates are measurements.

    They are not if the run, or a run that it carries answers over from, asked only failed
    evaluations again, or chose its cases by their scores. `carries` says whether the run carries
    over any answers.
    """
    for of in _lineage(connection, run, carries):
        branch = of.started.branched_from
        if branch is not None and branch.again == "failed":
            source = read_run(connection, branch.run_id).started.run_number
            what = f"asked again only what had failed in run {source}, so its rates are high"
            return ChosenByResult(_not_measured(run, of, what), None)
        if (patterns := chosen_by_score(of.started.selection)) is not None:
            what = f"chose its cases by their scores ({patterns}), so its rates are no measurement"
            return ChosenByResult(_not_measured(run, of, what), patterns if of is run else None)
    return None


def _lineage(connection: Connection, run: Run, carries: bool) -> Iterator[Run]:
    """The run, then each run that it carries answers over from. `carries` says whether it carries
    over any answers."""
    yield run
    while carries and (branch := run.started.branched_from) is not None:
        run = read_run(connection, branch.run_id)
        yield run


def _chain(connection: Connection, run: Run, carries: bool) -> Iterator[tuple[Run, Branch]]:
    """The runs of the lineage that are branches, each with its branch."""
    for of in _lineage(connection, run, carries):
        if (branch := of.started.branched_from) is not None:
            yield of, branch


def _not_measured(run: Run, of: Run, what: str) -> str:
    """The reason: what the run `of` did; `run` carries its answers over, or is that run."""
    number = of.started.run_number
    reason = f"run {number} {what}"
    if of is run:
        return reason
    return f"answers are carried over from run {number}; {reason}"


def _repeats_experiment(connection: Connection, of: Run, branch: Branch) -> bool:
    """Whether the run `of` reuses answers of its own experiment.

    Then it asks evaluations without a score again.
    """
    if not branch.reuse:
        return False
    source = read_run(connection, branch.run_id).started
    return source.experiment.digest == of.started.experiment.digest


def _unscored_by_answer(connection: Connection, of: Run, branch: Branch) -> Iterator[EvaluationKey]:
    """The evaluations that the run `of` asks again and that had no score because of their answer.

    The keys are the run's own.
    """
    for ended in _ending_windows(connection, of, branch):
        unscored = {
            ending.stream_id: key
            for key, ending in ended.items()
            if ending.abandoned and (branch.reuse or not carries_over(branch, ending))
        }
        for stream, rows in read_streams(connection, list(unscored)).items():
            state = fold(row.event() for row in rows)
            if unscored_group(state) in BY_ANSWER:
                yield unscored[stream]


def _scored_since(
    connection: Connection, run: Run, here: set[EvaluationKey], before: set[EvaluationKey]
) -> Mapping[str, int]:
    """The number of evaluations that have a score now, among those that were asked again, by model.

    The run itself asked those of `here` again; those of `before` count if they are carried over.
    The keys have the run's id.
    """
    if not here and not before:
        return {}
    own = run.started.originator_id
    now = Branch(run_id=own, position=last_position(connection, own))
    scored: Counter[str] = Counter()
    for ended in _ending_windows(connection, run, now):
        for key, ending in ended.items():
            again = key in here or (key in before and ending.happened_in != own)
            scored[key.model_key] += again and not ending.abandoned
    return scored


def _ending_windows(connection: Connection, run: Run, branch: Branch) -> Iterator[_Ended]:
    """The endings of the run's planned evaluations at the branch's position, in plan order, a
    window at a time. Unfinished evaluations are left out."""
    models = [model.key for model in run.started.models]
    for chunk in range(run.chunks):
        digests = read_chunk(connection, run.started.originator_id, chunk)
        for window in planned_windows(run, digests, models):
            yield endings(connection, branch, window)
