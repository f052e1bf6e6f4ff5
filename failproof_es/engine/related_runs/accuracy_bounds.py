"""The intervals of a run's mean accuracies, for gates that judge their lower end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from failproof_es.configuration.gates_section import Gates
from failproof_es.engine.related_runs.paired_results import CasesOfRuns, RunScores
from failproof_es.gates import AccuracyBounds, BoundsByGroup
from failproof_es.store.reading.reader import Connection

Family = tuple[str, str]


def accuracy_bounds(connection: Connection, limits: Gates, now: RunScores) -> BoundsByGroup:
    """The bounds of the mean accuracy of the run `now`, by model and suite.

    Suite `None` means all suites. Families of cases count as clusters. Empty if no gate of `limits`
    judges a lower end. A group with too few scores for an interval has no entry.
    """
    if not limits.judges_lower_end:
        return {}
    planned = CasesOfRuns(connection).read_planned(now.run)
    return bounds_of(
        (model, scores[evaluation.key].accuracy, evaluation.family)
        for model, scores in now.by_model.items()
        for evaluation in planned
        if evaluation.key in scores
    )


def bounds_of(accuracies: Iterable[tuple[str, float, Family]]) -> BoundsByGroup:
    """The bounds of mean accuracies, as `accuracy_bounds`, from (model, accuracy, family)."""
    from failproof_es.support.statistics import score_interval  # scipy takes a third of a second

    groups: defaultdict[tuple[str, str | None], list[tuple[float, Family]]] = defaultdict(list)
    for model, accuracy, family in accuracies:
        for suite in (None, family[0]):
            groups[model, suite].append((accuracy, family))
    bounds = {}
    for group, scored in groups.items():
        families = [family for _, family in scored]
        interval = score_interval([accuracy for accuracy, _ in scored], families)
        if interval is not None and interval.low is not None and interval.high is not None:
            cases = len(set(families))
            bounds[group] = AccuracyBounds(interval.low, interval.high, cases)
    return bounds
