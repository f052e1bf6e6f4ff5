"""Pairs the evaluations of two runs, or of two models, that asked the same. Pure.

Two are a pair when what was sent and what decides how the answer is graded are alike
(`experiment.graded_digest`), for the same repetition. The id of a case decides only
which of several equal ones are paired. Evaluations without a partner are counted by reason.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

Why = Literal[
    "sent another prompt under the same name",
    "graded otherwise",
    "asked another number of times",
    "asked in one only",
    "not scored in both",
]
"""Why an evaluation is compared with nothing. All but the last: it was not asked of the other."""

ALTERED: Why = "sent another prompt under the same name"
REGRADED: Why = "graded otherwise"
FEWER: Why = "asked another number of times"
ALONE: Why = "asked in one only"
NOT_SCORED: Why = "not scored in both"
_IN_ORDER = (ALTERED, REGRADED, FEWER, ALONE, NOT_SCORED)


class Question(NamedTuple):
    """The question of one evaluation, with its repetition."""

    graded: str
    """`experiment.graded_digest`: what is sent, and what decides how the answer is graded."""
    sent: str
    """`experiment.question_digest`: what is sent."""
    suite: str
    case: str
    repetition: int


@dataclass(frozen=True, slots=True)
class Unpaired:
    """The number of evaluations without a partner on each side, by reason."""

    why: Why
    first: int
    second: int

    def describe(self) -> str:
        """In one phrase: how many, of both sides where they differ, and why."""
        if self.first == self.second:
            return f"{self.first:,} {self.why}"
        return f"{self.first:,} and {self.second:,} {self.why}"


@dataclass(frozen=True, slots=True)
class Pairing:
    """The places of each pair in the two sequences, in the order of the first."""

    pairs: tuple[tuple[int, int], ...]
    unpaired: tuple[Unpaired, ...]


def same_questions(unpaired: Iterable[Unpaired]) -> bool:
    """Whether all that either was asked was asked of the other, scored or not."""
    return all(each.why == NOT_SCORED for each in unpaired)


def pair_evaluations(
    first: Sequence[Question],
    second: Sequence[Question],
    scored: Callable[[int, int], bool] = lambda one, other: True,
) -> Pairing:
    """Pair the questions of `first` with those of `second`.

    `scored` tells whether the evaluations at two places both have a score.
    """
    partners = _partners(first, second)
    counts: defaultdict[Why, list[int]] = defaultdict(lambda: [0, 0])
    pairs = []
    for one, other in sorted(partners.items()):
        if scored(one, other):
            pairs.append((one, other))
        else:
            counts[NOT_SCORED][0] += 1
            counts[NOT_SCORED][1] += 1
    for side, (own, others, taken) in enumerate(
        ((first, second, partners.keys()), (second, first, set(partners.values())))
    ):
        why_alone = _Why(others)
        for at, question in enumerate(own):
            if at not in taken:
                counts[why_alone(question)][side] += 1
    unpaired = (Unpaired(why, *counts[why]) for why in _IN_ORDER if why in counts)
    return Pairing(tuple(pairs), tuple(unpaired))


def _partners(first: Sequence[Question], second: Sequence[Question]) -> dict[int, int]:
    """The places of `second` by those of `first`: of several alike those of one name first."""
    found: dict[int, int] = {}
    keys: tuple[Callable[[Question], Hashable], ...] = (
        lambda each: (each.graded, each.suite, each.case, each.repetition),
        lambda each: (each.graded, each.repetition),
    )
    for key in keys:
        taken = set(found.values())
        free: defaultdict[Hashable, list[int]] = defaultdict(list)
        for at in reversed(range(len(second))):
            if at not in taken:
                free[key(second[at])].append(at)
        for at, question in enumerate(first):
            if at not in found and (places := free.get(key(question))):
                found[at] = places.pop()
    return found


class _Why:
    """Why a question has no partner among others."""

    def __init__(self, others: Sequence[Question]) -> None:
        self._sent: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._graded = {each.graded for each in others}
        for each in others:
            self._sent[each.suite, each.case].add(each.sent)

    def __call__(self, question: Question) -> Why:
        if question.graded in self._graded:
            return FEWER
        sent = self._sent.get((question.suite, question.case))
        if sent is None:
            return ALONE
        return REGRADED if question.sent in sent else ALTERED
