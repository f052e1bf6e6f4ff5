"""Compares two runs by model, on the cases that both scored (`failproof_es.core.pairing`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple
from uuid import UUID

from failproof_es.configuration.recorded import repetitions_of
from failproof_es.core.case import prompt_id
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.core.pairing import (
    OtherVersion,
    Question,
    Unpaired,
    counterparts,
    graded_alike,
    other_versions,
    pair_evaluations,
)
from failproof_es.core.run import Run
from failproof_es.engine.evaluation_outcomes import outcomes_of
from failproof_es.engine.history import read_chunk, read_run
from failproof_es.engine.planning.asked_cases import question_of
from failproof_es.engine.planning.prompt_collections import read_cases
from failproof_es.store.reading.archives import require_attached
from failproof_es.store.reading.reader import Connection


class QuestionKey(NamedTuple):
    """Identifies an evaluation within one model of a run: the prompt, and the repetition from 1."""

    prompt_id: UUID
    repetition: int


class ScoredPair(NamedTuple):
    """The accuracies of one question in two runs, from 0 to 1."""

    now: float
    before: float
    prompt_id: UUID
    family: tuple[str, str]
    """The family of its case: cases of a family are not independent of each other."""


@dataclass(frozen=True, slots=True)
class Scores:
    """The accuracies of a model of one run and of its counterpart in another run, in pairs by
    question."""

    model: str
    counterpart: str | None
    """`None` where the other run has no such model."""
    planned: int
    pairs: tuple[ScoredPair, ...]
    unpaired: tuple[Unpaired, ...]
    lost: tuple[ScoredPair, ...] = ()
    """Pairs of questions that only the other run scored; they count as failed here."""
    other_versions: tuple[OtherVersion, ...] = ()
    """The graders whose versions differ where both were scored, each pair of versions once."""


class GradedAccuracy(NamedTuple):
    """An accuracy, and the versions that gave it."""

    accuracy: float
    graded_by: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RunScores:
    """The accuracies of a run, from its outcomes."""

    run: Run
    by_model: dict[str, dict[QuestionKey, GradedAccuracy]] = field(default_factory=dict)
    """The accuracies, carried-over ones included."""
    _graders: dict[tuple[tuple[str, str], ...], Mapping[str, str]] = field(default_factory=dict)
    """Each set of versions once, to save memory."""

    @classmethod
    def of(cls, run: Run, outcomes: Iterable[EvaluationOutcome]) -> RunScores:
        """The accuracies of the run `run`, from its outcomes."""
        scores = cls(run)
        for outcome in outcomes:
            scores.add(outcome)
        return scores

    def add(self, outcome: EvaluationOutcome) -> None:
        """Add the accuracy of one more outcome, if it has one."""
        if (accuracy := outcome.accuracy) is not None:
            question = QuestionKey(outcome.prompt_id, outcome.repetition)
            versions = self._graders.setdefault(tuple(outcome.graded_by.items()), outcome.graded_by)
            graded = GradedAccuracy(accuracy, versions)
            self.by_model.setdefault(outcome.model_key, {})[question] = graded


def read_scores(connection: Connection, run_id: UUID) -> RunScores:
    """The accuracies of a run, read from the log.

    Raises `RunIsArchived` if its evaluations are archived.
    """
    require_attached(connection, run_id)
    run = read_run(connection, run_id)
    return RunScores.of(run, outcomes_of(connection, run))


def scores_of_both(connection: Connection, run_id: UUID, against: UUID) -> Iterator[Scores]:
    """Compare each model of run `run_id` with the same model of run `against`.

    If each run has one model, these two are compared, whatever their names. Raises `RunIsArchived`
    if one of the runs is archived.
    """
    now, before = (read_scores(connection, side) for side in (run_id, against))
    return paired_scores(connection, now, before)


def paired_scores(connection: Connection, now: RunScores, before: RunScores) -> Iterator[Scores]:
    """Compare each model of run `now` with the same model of run `before`, as `scores_of_both`
    does. Reads both plans, and no evaluations."""
    models = [model.key for model in now.run.started.models]
    models_before = [model.key for model in before.run.started.models]
    cases = CasesOfRuns(connection)
    planned, planned_before = cases.read_planned(now.run), cases.read_planned(before.run)
    for model, counterpart in counterparts(models, models_before):
        yield _scores(
            (model, planned, now.by_model.get(model, {})),
            (
                counterpart,
                planned_before if counterpart else [],
                before.by_model.get(counterpart or "", {}),
            ),
        )


class PlannedQuestion(NamedTuple):
    """A planned evaluation without its model."""

    key: QuestionKey
    question: Question
    family: tuple[str, str]
    """The family of its case: cases of a family are not independent of each other."""


class CasesOfRuns:
    """Reads the questions of several runs from the log, each case once."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._read: dict[str, tuple[Question, tuple[str, str]]] = {}

    def read_planned(self, run: Run) -> list[PlannedQuestion]:
        """The planned questions of a run with all repetitions, in plan order.

        A case planned twice is there once.
        """
        run_id = run.started.originator_id
        chunks = (read_chunk(self._connection, run_id, chunk) for chunk in range(run.chunks))
        digests = list(dict.fromkeys(chain.from_iterable(chunks)))
        new = [digest for digest in digests if digest not in self._read]
        for digest, case in zip(new, read_cases(self._connection, new), strict=True):
            self._read[digest] = question_of(case), case.family
        repetitions = repetitions_of(run.started)
        return [
            PlannedQuestion(
                QuestionKey(prompt_id(digest), n), question._replace(repetition=n), family
            )
            for digest in digests
            for question, family in (self._read[digest],)
            for n in range(1, repetitions + 1)
        ]


def _scores(
    one: tuple[str, Sequence[PlannedQuestion], Mapping[QuestionKey, GradedAccuracy]],
    other: tuple[str | None, Sequence[PlannedQuestion], Mapping[QuestionKey, GradedAccuracy]],
) -> Scores:
    model, planned, now = one
    counterpart, planned_before, before = other
    differing: dict[OtherVersion, None] = {}

    def alike(first: int, second: int) -> bool:
        mine = now[planned[first].key].graded_by
        theirs = before[planned_before[second].key].graded_by
        if graded_alike(mine, theirs):
            return True
        differing.update(dict.fromkeys(other_versions(mine, theirs)))
        return False

    pairing = pair_evaluations(
        [evaluation.question for evaluation in planned],
        [evaluation.question for evaluation in planned_before],
        lambda first, second: planned[first].key in now and planned_before[second].key in before,
        alike,
    )

    def pair(accuracy: float, first: int, second: int) -> ScoredPair:
        key, _, family = planned[first]
        return ScoredPair(
            accuracy, before[planned_before[second].key].accuracy, key.prompt_id, family
        )

    pairs = tuple(pair(now[planned[at].key].accuracy, at, other) for at, other in pairing.pairs)
    lost = tuple(
        pair(0.0, at, other)
        for at, other in pairing.unscored
        if planned[at].key not in now and planned_before[other].key in before
    )
    return Scores(model, counterpart, len(planned), pairs, pairing.unpaired, lost, tuple(differing))
