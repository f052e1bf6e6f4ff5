"""The result of comparing two runs: the counts of their pairs, and the listed pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from failproof_es.core.clusters import ClusterSums
from failproof_es.core.pairing import Unpaired
from projections.protocol import visible

if TYPE_CHECKING:
    from failproof_es.support.statistics import Paired


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: a run and a model in it."""

    run_id: UUID
    model: str
    repetitions: int


@dataclass(frozen=True, slots=True)
class ComparedCounts:
    """The pairs of two sides: the 2x2 table, its test, and the numbers of excluded evaluations."""

    both_passed: int
    both_failed: int
    worse: int
    """Pairs that passed only in the base."""
    better: int
    """Pairs that passed only in the other run."""
    one_answer: int
    """Pairs of one and the same answer, which a run carried over: they cannot differ."""
    base: ClusterSums
    """Sums over the clusters of the pairs for the base; `other`: for the other run."""
    other: ClusterSums
    paired: Paired
    """The test of `other` less `base`: above 0 the other is better."""
    unpaired: tuple[Unpaired, ...]
    not_looked_into: int
    """Cases that one run alone planned, too many to be read: some may ask the same."""

    @property
    def pairs(self) -> int:
        """Number of pairs, both with a verdict."""
        return self.both_passed + self.both_failed + self.worse + self.better


@dataclass(frozen=True, slots=True)
class ComparedGroup:
    """The numbers of pairs of a suite and category with at least one discordant pair.

    A pair is `worse` if only the base passed, `better` if only the other run did. `category` is the
    suite's name for cases without one.
    """

    suite: str
    category: str
    pairs: int
    worse: int
    better: int


@dataclass(frozen=True, slots=True)
class ClassChange:
    """Number of discordant pairs with the class `base` in the base and `other` in the other run."""

    better: bool
    """Whether the other run passed; else the base did."""
    base: str
    other: str
    pairs: int


@dataclass(frozen=True, slots=True)
class ComparedPair:
    """A pair: one question in both runs."""

    place: int
    """0: passed in the base only; 1: in the other only; 2: in neither; 3: in both."""
    suite: str
    case: str
    repetition: int
    category: str | None
    prompt_id: UUID
    other_prompt_id: UUID
    """Differs from `prompt_id` if the cases differ, but only in notes."""
    base_evaluation_id: UUID
    other_evaluation_id: UUID
    base_passed: bool
    other_passed: bool
    base_class: str | None
    other_class: str | None
    base_ms: float | None
    other_ms: float | None
    one_answer: bool
    """Whether both are one and the same answer, which a run carried over."""

    @property
    def key(self) -> tuple[int, str, str, int, UUID]:
        """Its place in the order of the list."""
        return (
            self.place, visible(self.suite), visible(self.case), self.repetition,
            self.base_evaluation_id,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class AnswerText:
    """The beginnings of an answer and of the reason of its score; empty without one."""

    answer: str
    answer_cut: bool
    reason: str
    """At most 1,000 characters."""


@dataclass(frozen=True, slots=True)
class RunComparison:
    """The comparison of two runs that a page shows."""

    counts: tuple[ComparedCounts, ...]
    """The counts of each pair of sides, in order."""
    groups: tuple[ComparedGroup, ...]
    """The twenty suites and categories with the largest difference. This and the next two fields
    are about the pair of sides at `listed`."""
    classes: tuple[ClassChange, ...]
    """The classes of discordant pairs."""
    pairs: tuple[ComparedPair, ...]
    """The listed pairs."""
    listed: int
    """The index of the pair of sides whose pairs these are."""
