"""Counts several runs together: runs that asked different cases of the same models. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from failproof_es.configuration.recorded import repetitions_of
from failproof_es.core.experiment import canonical, model_identity
from failproof_es.events import RunStarted
from failproof_es.problems import InvalidInput, Problem
from failproof_es.report.data.observations import Observation
from failproof_es.support.plurals import plural

Seen = Sequence[Sequence[Observation]]
"""The observations of each run, in the order of the runs."""


def pool(runs: Sequence[RunStarted], seen: Seen) -> tuple[list[list[Observation]], str]:
    """The observations of each run as if they were of one, and a sentence that names the runs.

    A case that one run checks and another one judges counts in both, as one cluster. Raises
    `InvalidInput` for a single run, if models or repetitions differ, and if two runs asked a model
    the same with the same criteria: they are attempts, which are compared.
    """
    if problems := list(_find_obstacles(runs, seen)):
        raise InvalidInput(problems)
    clusters: dict[str, tuple[str, str]] = {}
    shared: set[str] = set()
    pooled: list[list[Observation]] = []
    for of_run in seen:
        shared |= {observation.question.sent for observation in of_run} & clusters.keys()
        joined = {
            observation.cluster: clusters[observation.question.sent]
            for observation in of_run
            if observation.question.sent in clusters
        }  # with a case, its whole family joins the cluster of the earlier run
        own = [replace(one, cluster=joined.get(one.cluster, one.cluster)) for one in of_run]
        pooled.append(own)
        for observation in own:
            clusters.setdefault(observation.question.sent, observation.cluster)
    return pooled, _describe_pool(runs, len(shared))


def _describe_pool(runs: Sequence[RunStarted], shared: int) -> str:
    numbers = ", ".join(str(run.run_number) for run in runs)
    twice = f"; {plural(shared, 'case')} of several runs count in each" if shared else ""
    return f"Counted together: runs {numbers}{twice}."


def _find_obstacles(runs: Sequence[RunStarted], seen: Seen) -> Iterator[Problem]:
    """Why the runs cannot be counted together."""
    first, *later = runs
    if not later:
        yield _obstacle(f"run {first.run_number} alone has nothing to be counted with")
    for other in later:
        both = f"runs {first.run_number} and {other.run_number}"
        if _models(first) != _models(other):
            yield _obstacle(f"{both} asked different models, or with different settings")
        if repetitions_of(first) != repetitions_of(other):
            yield _obstacle(f"{both} repeated their cases a different number of times")
    run_of_question: dict[tuple[str, str, int], int] = {}
    for run, of_run in zip(runs, seen, strict=True):
        for observation in of_run:
            question = observation.question
            key = (observation.model_key, question.graded, question.repetition)
            if (number := run_of_question.setdefault(key, run.run_number)) != run.run_number:
                case = f"case {observation.case[:200]!r}"
                yield _obstacle(f"runs {number} and {run.run_number} both asked {case}")
                return


def _obstacle(message: str) -> Problem:
    remedy = "leave out --pool: each run is counted by itself, and compared"
    return Problem("not-poolable", message, field="--pool", remedy=remedy)


def _models(run: RunStarted) -> Mapping[str, Any]:
    """By key, what identifies each model under test."""
    return {
        model.key: canonical(model_identity(model.model_dump(mode="json"))) for model in run.models
    }
