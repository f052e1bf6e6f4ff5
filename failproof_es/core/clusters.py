"""Clusters of evaluations that are not independent of each other, with their passes. Pure.

A cluster holds one model's evaluations of one case, or of all cases of one family.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import astuple, dataclass, field
from typing import NamedTuple, Protocol


@dataclass(frozen=True, slots=True)
class ClusterSums:
    """Additive sums over clusters, from which the interval of a rate is computed.

    The size of a cluster is its number of outcomes.
    """

    clusters: int = 0
    passed: int = 0
    size: int = 0
    passed_squared: int = 0
    passed_by_size: int = 0
    size_squared: int = 0
    with_passed: int = 0
    """Clusters with at least one outcome that passed; `with_failed`: with one that failed."""
    with_failed: int = 0

    @classmethod
    def of(cls, clusters: Iterable[tuple[int, int]]) -> ClusterSums:
        """The sums of clusters given as (passed, size).

        A `Counter` has the number of clusters with each pair as its counts.
        """
        sums = [0] * 8
        shapes = clusters if isinstance(clusters, Counter) else Counter(clusters)
        for (passed, size), times in shapes.items():
            terms = (1, passed, size, passed * passed, passed * size, size * size)
            for at, term in enumerate((*terms, passed > 0, passed < size)):
                sums[at] += times * term
        return cls(*sums)

    @classmethod
    def alone(cls, passed: int, failed: int) -> ClusterSums:
        """The sums of `passed` + `failed` clusters with one outcome each."""
        size = passed + failed
        return cls(size, passed, size, passed, passed, size, passed, failed)

    def plus(self, other: ClusterSums) -> ClusterSums:
        """The sums over both sets of clusters, which must be disjoint."""
        both = zip(astuple(self), astuple(other), strict=True)
        return ClusterSums(*(one + another for one, another in both))


class Clustered(Protocol):
    """The attributes of a case that select the cluster of its evaluations."""

    @property
    def suite_id(self) -> str: ...

    @property
    def case_id(self) -> str: ...

    @property
    def family_tag(self) -> str | None: ...


def family_of(case: Clustered) -> tuple[str, str]:
    """The case's cluster among those of one model: its suite, and its family tag or else its id."""
    return case.suite_id, case.family_tag or case.case_id


class ClusterKey(NamedTuple):
    """The identity of a cluster in a run: model, suite, and case id or family tag."""

    model_key: str
    suite_id: str
    name: str


@dataclass(slots=True)
class SharedClusters:
    """The clusters that can hold several evaluations of a run, with their passes.

    In a run that asks each case once, an evaluation of a case without a family is a cluster of its
    own and is left out.
    """

    repeated: bool = field(default=True, compare=False)
    """Whether the run asks a case more than once, as far as is known."""
    by_key: dict[ClusterKey, list[int]] = field(default_factory=dict)
    """[passed, judged] evaluations of each cluster, until `settle`."""
    shapes: dict[tuple[str, str], Counter[tuple[int, int]]] = field(default_factory=dict)
    """By model and suite, the number of clusters by (passed, judged)."""

    def add(self, model: str, case: Clustered, passed: bool | None, times: int = 1) -> None:
        """Add one evaluation of this case by the model with this key; with `times=-1` subtract it.

        Ignores an evaluation without a verdict (`passed` is `None`).
        """
        if passed is None or not (self.repeated or case.family_tag is not None):
            return
        key = ClusterKey(model, *family_of(case))
        counts = self.by_key.setdefault(key, [0, 0])
        counts[0] += times * passed
        counts[1] += times

    def include(self, other: SharedClusters, times: int = 1) -> None:
        """Add the clusters of `other`, which is not settled; with `times=-1` subtract them."""
        for key, (passed, judged) in other.by_key.items():
            counts = self.by_key.setdefault(key, [0, 0])
            counts[0] += times * passed
            counts[1] += times * judged

    def settle(self) -> None:
        """Reduce all clusters to their `shapes` (passed, judged).

        Nothing can be added afterwards.
        """
        for (model, suite, _), (passed, judged) in self.by_key.items():
            if judged:
                self.shapes.setdefault((model, suite), Counter())[passed, judged] += 1
        self.by_key.clear()

    def sums(self, model: str, suite: str | None) -> ClusterSums:
        """The sums over the clusters of this model, in this suite; `None` means all suites."""
        shapes: Counter[tuple[int, int]] = Counter()
        for (its_model, its_suite), counts in self.shapes.items():
            if its_model == model and suite in (None, its_suite):
                shapes.update(counts)
        for key, (passed, judged) in self.by_key.items():
            if judged and key.model_key == model and suite in (None, key.suite_id):
                shapes[passed, judged] += 1
        return ClusterSums.of(shapes)
