"""Reads cases that changed between two runs: each run's questions, expectations and answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from failproof_es.configuration.recorded import repetitions_of
from failproof_es.core.case import prompt_id
from failproof_es.core.run import planned_evaluations
from failproof_es.dialects.expectations import expectations_of
from failproof_es.engine.related_runs.differences import ChangedCase
from failproof_es.reading.recorded_run import PlannedOutcome, RecordedRun

_MOST_READ = 200
"""Number of changed cases that are read at most."""


class CaseAnswer(NamedTuple):
    """An answer to the case in one run."""

    model: str
    repetition: int
    class_: str | None
    answer: str | None


class CaseSide(NamedTuple):
    """The case in one run."""

    asked: tuple[str, ...]
    """Texts of the user's turns."""
    expected: tuple[str, ...]
    """The case's expectation of an answer."""
    answers: tuple[CaseAnswer, ...]


class CaseChange(NamedTuple):
    """A case whose question or expectation differs between two runs, with its state in each run."""

    case: ChangedCase
    left: CaseSide
    right: CaseSide


def read_changes(
    left: RecordedRun, right: RecordedRun, changed: Sequence[ChangedCase]
) -> list[CaseChange]:
    """The changed cases in both runs, the first 200; without those of which only notes differ."""
    cases = [case for case in changed if case.differs != "what is noted"][:_MOST_READ]
    sides = [
        _read_sides(run, digests)
        for run, digests in (
            (left, [case.left for case in cases]),
            (right, [case.right for case in cases]),
        )
    ]
    return [CaseChange(*change) for change in zip(cases, *sides, strict=True)]


def _read_sides(run: RecordedRun, digests: Sequence[str]) -> Iterator[CaseSide]:
    models = [model.key for model in run.started.models]
    keys = planned_evaluations(run.run_id, digests, models, repetitions_of(run.started))
    results = run.outcomes_of((0, key) for key in keys)  # the place is not needed
    prompts = map(prompt_id, digests)
    for prompt, (_, of_case) in zip(
        prompts, groupby(results, lambda planned: planned.outcome.prompt_id), strict=True
    ):
        side = list(of_case)
        assert side[0].outcome.prompt_id == prompt
        yield _side(side)


def _side(results: Sequence[PlannedOutcome]) -> CaseSide:
    case, outcome = results[0].case, results[0].outcome
    return CaseSide(
        case.questions,
        tuple(expectation.expected for expectation in expectations_of(case, outcome)),
        tuple(
            CaseAnswer(o.model_key, o.repetition, o.class_, o.answer)
            for o in (planned.outcome for planned in results)
        ),
    )
