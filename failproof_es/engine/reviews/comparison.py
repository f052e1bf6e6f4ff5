"""Compares the verdicts of judges and people on the same items. Pure.

Judges are compared where they spoke; where deterministic checks alone decided, those are
compared in their place. Whoever speaks of an item says `met` or `not_met`, whatever words were
used: `present` is met of a must_do and not met of a must_not_do. A verdict that is `unclear`, could
not be read or was said without proof, and an item that nobody decided, are no votes: such a pair is
counted as left out and is in no agreement.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations
from typing import Literal, NamedTuple

from failproof_es.core.evaluation import Evaluation, Judgement
from failproof_es.dialects.kit.judging import Item, decide
from failproof_es.engine.reviews.people import ReviewedEvaluation, items_of
from failproof_es.events import Reviewed

JUDGES = "judges"
CHECKS = "checks"
VERDICT = "verdict"
"""What whole evaluations get is of one kind."""

What = Literal["verdicts", "items"]


class RaterPair(NamedTuple):
    """Two that speak of the same: `judges` together, `checks`, one judge, or a reviewer."""

    one: str
    other: str
    what: What
    engine: bool
    """Whether `one` is the engine's, no person."""


class Pair(NamedTuple):
    """What both said, and of which family of cases: what is said of one belongs together."""

    one: str
    other: str
    family: tuple[str, str]
    kind: str
    """Of which kind of item, or `verdict`: what is met by chance differs from kind to kind."""


class RatingPair(NamedTuple):
    """What two said of one thing; `None` where one of them said nothing that counts."""

    between: RaterPair
    one: str | None
    other: str | None
    kind: str


@dataclass(slots=True)
class Agreement:
    """What two are compared by."""

    pairs: list[Pair] = field(default_factory=list)
    left_out: int = 0
    """Of what just one of them, or neither, said anything that counts."""


@dataclass(slots=True)
class Comparison:
    """The pairs found so far."""

    pairs: defaultdict[RaterPair, Agreement] = field(default_factory=lambda: defaultdict(Agreement))

    def add(self, evaluation: ReviewedEvaluation) -> None:
        """Take in what was said of one evaluation."""
        case, state = evaluation.recorded.case, evaluation.state
        items = items_of(case)
        for between, one, other, kind in chain(
            _judges(items, state), _engine_and_people(items, evaluation), _people(items, evaluation)
        ):
            if one is None or other is None:
                self.pairs[between].left_out += 1
            else:
                self.pairs[between].pairs.append(Pair(one, other, case.family, kind))

    def found(self) -> list[tuple[RaterPair, Agreement]]:
        """All that have anything in common; what the engine has to do with first."""
        compared = [(between, found) for between, found in self.pairs.items() if found.pairs]
        return sorted(compared, key=lambda each: (not each[0].engine, each[0]))


def engine_verdict(state: Evaluation) -> str | None:
    """`pass` or `fail` as the engine scored it; `None` where it did not."""
    accuracy = None if state.score is None else state.score.scores.get("accuracy")
    return None if accuracy is None else "pass" if accuracy == 1.0 else "fail"


def _judges(items: Sequence[Item], state: Evaluation) -> Iterator[RatingPair]:
    """What every two judges said of an item."""
    if not items or any("items" not in (each.verdict or {"items"}) for each in state.verdicts):
        return
    for decision in decide(items, Judgement("majority", state.verdicts)):
        for (first, one), (second, other) in combinations(
            sorted(decision.votes.items(), key=_key), 2
        ):
            between = RaterPair(first, second, "items", True)
            yield RatingPair(between, _word(one), _word(other), decision.item.kind)


def _key(vote: tuple[str, bool | None]) -> str:
    return vote[0]


def _word(met: bool | None) -> str | None:
    return None if met is None else "met" if met else "not_met"


def _engine_and_people(
    items: Sequence[Item], evaluation: ReviewedEvaluation
) -> Iterator[RatingPair]:
    """What the engine came to, and what each reviewer did."""
    state = evaluation.state
    by = JUDGES if state.verdicts else CHECKS
    verdict = engine_verdict(state)
    scores = state.score.scores if state.score is not None else {}
    decided = {item.key: _word(scores[item.key] == 1.0) for item in items if item.key in scores}
    for reviewer, review in evaluation.latest().items():
        yield RatingPair(
            RaterPair(by, reviewer, "verdicts", True), verdict, _clear(review), VERDICT
        )
        said = {each.item: each.verdict for each in review.items}
        between = RaterPair(by, reviewer, "items", True)
        for item in items:
            yield RatingPair(between, decided.get(item.key), said.get(item.key), item.kind)


def _people(items: Sequence[Item], evaluation: ReviewedEvaluation) -> Iterator[RatingPair]:
    """What every two reviewers said."""
    for (first, one), (second, other) in combinations(sorted(evaluation.latest().items()), 2):
        between = RaterPair(first, second, "verdicts", False)
        yield RatingPair(between, _clear(one), _clear(other), VERDICT)
        ones, others = ({each.item: each.verdict for each in by.items} for by in (one, other))
        between = RaterPair(first, second, "items", False)
        for item in items:
            yield RatingPair(between, ones.get(item.key), others.get(item.key), item.kind)


def _clear(review: Reviewed) -> str | None:
    return None if review.verdict == "unclear" else review.verdict
