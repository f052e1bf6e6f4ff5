"""Clusters: evaluations that are not independent of each other, and how many of each passed. Pure.

Evaluations of one case, and of cases of one family, are a cluster for each model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import astuple, dataclass, field
from typing import NamedTuple, Protocol


@dataclass(frozen=True, slots=True)
class ClusterSums:
    """All that the interval of a rate needs of its clusters: sums over them, which add up.

    A cluster has so many outcomes, its size, of which so many passed.
    """

    clusters: int = 0
    passed: int = 0
    size: int = 0
    passed_squared: int = 0
    passed_by_size: int = 0
    size_squared: int = 0
    with_passed: int = 0
    """Clusters of which an outcome passed."""
    with_failed: int = 0

    @classmethod
    def of(cls, clusters: Iterable[tuple[int, int]]) -> ClusterSums:
        """The sums of clusters, of each of which so many passed of so many (a `Counter`: so many
        clusters of each shape)."""
        sums = [0] * 8
        shapes = clusters if isinstance(clusters, Counter) else Counter(clusters)
        for (passed, size), times in shapes.items():
            terms = (1, passed, size, passed * passed, passed * size, size * size)
            for at, term in enumerate((*terms, passed > 0, passed < size)):
                sums[at] += times * term
        return cls(*sums)

    @classmethod
    def alone(cls, passed: int, failed: int) -> ClusterSums:
        """The sums of outcomes of which each is a cluster of its own."""
        size = passed + failed
        return cls(size, passed, size, passed, passed, size, passed, failed)

    def plus(self, other: ClusterSums) -> ClusterSums:
        """The sums of the clusters of both, which have none in common."""
        both = zip(astuple(self), astuple(other), strict=True)
        return ClusterSums(*(one + another for one, another in both))


class Clustered(Protocol):
    """What of a case decides to which cluster its evaluations belong."""

    @property
    def suite_id(self) -> str: ...

    @property
    def case_id(self) -> str: ...

    @property
    def family_tag(self) -> str | None: ...


class ClusterKey(NamedTuple):
    """A cluster of a run: of one model, a case or a family of a suite."""

    model_key: str
    suite_id: str
    name: str


@dataclass(slots=True)
class SharedClusters:
    """The clusters that several evaluations of a run may share: how many passed of how many.

    An evaluation of a case without a family, in a run that asks each case once, is a cluster of
    its own and is not in here.
    """

    repeated: bool = field(default=True, compare=False)
    """Whether the run asks a case more than once, as far as is known."""
    by_key: dict[ClusterKey, list[int]] = field(default_factory=dict)
    """Passed and judged evaluations of each cluster, while evaluations are added."""
    shapes: dict[tuple[str, str], Counter[tuple[int, int]]] = field(default_factory=dict)
    """By model and suite: how many clusters have so many passed and judged evaluations."""

    def add(self, model: str, case: Clustered, passed: bool | None, times: int = 1) -> None:
        """Count one evaluation; with -1 take it out. One without a verdict is in no cluster."""
        if passed is None or not (self.repeated or case.family_tag is not None):
            return
        key = ClusterKey(model, case.suite_id, case.family_tag or case.case_id)
        counts = self.by_key.setdefault(key, [0, 0])
        counts[0] += times * passed
        counts[1] += times

    def include(self, other: SharedClusters, times: int = 1) -> None:
        """Add all of another one that is not settled; with -1 subtract it."""
        for key, (passed, judged) in other.by_key.items():
            counts = self.by_key.setdefault(key, [0, 0])
            counts[0] += times * passed
            counts[1] += times * judged

    def settle(self) -> None:
        """Keep the shapes alone: nothing can be added any more."""
        for (model, suite, _), (passed, judged) in self.by_key.items():
            if judged:
                self.shapes.setdefault((model, suite), Counter())[passed, judged] += 1
        self.by_key.clear()

    def sums(self, model: str, suite: str | None) -> ClusterSums:
        """The sums over the clusters of this model, in this suite or in all."""
        shapes: Counter[tuple[int, int]] = Counter()
        for (its_model, its_suite), counts in self.shapes.items():
            if its_model == model and suite in (None, its_suite):
                shapes.update(counts)
        for key, (passed, judged) in self.by_key.items():
            if judged and key.model_key == model and suite in (None, key.suite_id):
                shapes[passed, judged] += 1
        return ClusterSums.of(shapes)
