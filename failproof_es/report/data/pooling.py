"""Counts several runs together: runs that asked different cases of the same models. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from failproof_es.configuration.recorded import repetitions_of
from failproof_es.core.experiment import canonical, model_identity
from failproof_es.events import RunStarted
from failproof_es.problems import InvalidInput, Problem
from failproof_es.report.data.observations import Observation
from failproof_es.support.plurals import plural

Seen = Sequence[Sequence[Observation]]
"""The observations of each run, in the order of the runs."""
Cluster = tuple[str, str]


def pool(runs: Sequence[RunStarted], seen: Seen) -> tuple[list[list[Observation]], str]:
    """The observations of each run as if they were of one, and a sentence that names the runs.

    A case that one run checks and another one judges counts in both, as one cluster. Raises
    `InvalidInput` for a single run, if models or repetitions differ, and if two runs asked a model
    the same with the same criteria: they are attempts, which are compared.
    """
    if problems := list(_find_obstacles(runs, seen)):
        raise InvalidInput(problems)
    runs_with = Counter(chain.from_iterable({one.question.sent for one in own} for own in seen))
    shared = {question for question, count in runs_with.items() if count > 1}
    cluster_of = _join_clusters(one for own in seen for one in own if one.question.sent in shared)
    pooled = [[replace(one, cluster=cluster_of(one.cluster)) for one in own] for own in seen]
    return pooled, _describe_pool(runs, len(shared))


def _join_clusters(observations: Iterable[Observation]) -> Callable[[Cluster], Cluster]:
    """The function from a cluster to the one that stands for it.

    Clusters with an observation of the same question have the same one, and so have all clusters
    in a chain of such pairs: a whole family joins with each of its cases.
    """
    joined: dict[Cluster, Cluster] = {}

    def find(cluster: Cluster) -> Cluster:
        while (parent := joined.get(cluster, cluster)) != cluster:
            joined[cluster] = joined.get(parent, parent)  # halves the way for the next time
            cluster = parent
        return cluster

    first_with: dict[str, Cluster] = {}
    for one in observations:
        first = find(first_with.setdefault(one.question.sent, one.cluster))
        if (other := find(one.cluster)) != first:
            joined[other] = first
    return find


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
