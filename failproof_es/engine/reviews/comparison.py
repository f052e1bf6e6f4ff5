"""Compares the verdicts of judges and people on the same items. Pure.

Judges are compared on the items that they judged. Where only deterministic checks decided, the
checks are compared instead. Every verdict on an item counts as `happened` or `did_not_happen`, the
words that people choose from. A verdict that is `unclear`, unreadable or without proof is not a
vote; neither is a missing verdict. A pair without two votes is counted as left out, and is in no
agreement.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations
from typing import Literal, NamedTuple

from failproof_es.core.evaluation import Evaluation, Judgement
from failproof_es.dialects.kit.judging import Item, checklist, decide
from failproof_es.engine.reviews.people import ReviewedEvaluation
from failproof_es.events import ItemVerdict, Reviewed
from failproof_es.events.side_streams import FORBIDDEN

JUDGES = "judges"
CHECKS = "checks"
VERDICT = "verdict"
"""The kind of a verdict on a whole evaluation."""

What = Literal["verdicts", "items"]
ItemOutcome = Literal["happened", "did_not_happen"]
"""The verdict on an item in words that mean the same for every list of the checklist."""


class RaterPair(NamedTuple):
    """Two raters of the same items: `judges` together, `checks`, one judge, or a reviewer."""

    one: str
    other: str
    what: What
    engine: bool
    """Whether `one` is the engine or a judge, not a person."""


class RaterChoice(NamedTuple):
    """Two raters, in any order, whose verdicts are compared."""

    raters: frozenset[str]
    what: What | None
    """`None` chooses verdicts and items."""

    def includes(self, pair: RaterPair) -> bool:
        """Whether it is a comparison of these two raters."""
        return self.raters == {pair.one, pair.other} and self.what in (None, pair.what)


class VerdictPair(NamedTuple):
    """Two verdicts on one item, and the item's family of cases, which is their cluster."""

    one: str
    other: str
    family: tuple[str, str]
    kind: str
    """The kind of item, or `verdict`: agreement by chance differs by kind."""


class RatingPair(NamedTuple):
    """The verdicts of two raters on one item; `None` for a rater without a vote."""

    between: RaterPair
    one: str | None
    other: str | None
    item: str
    """The key of the item, or `verdict` for the whole evaluation."""

    @property
    def kind(self) -> str:
        """The list that the item is in, or `verdict`."""
        return self.item.partition(".")[0]

    @property
    def is_disagreement(self) -> bool:
        """Whether both raters have a vote, and the votes differ."""
        return None not in (self.one, self.other) and self.one != self.other


@dataclass(slots=True)
class Agreement:
    """The items that two raters both judged, with their verdicts."""

    pairs: list[VerdictPair] = field(default_factory=list)
    left_out: int = 0
    """The number of items on which at least one of the two has no vote."""


@dataclass(slots=True)
class RaterComparison:
    """Compares every pair of raters, evaluation by evaluation."""

    pairs: defaultdict[RaterPair, Agreement] = field(default_factory=lambda: defaultdict(Agreement))

    def add(self, evaluation: ReviewedEvaluation) -> None:
        """Add the verdicts of judges, checks and people on one evaluation."""
        family = evaluation.recorded.case.family
        for pair in rating_pairs(evaluation):
            if pair.one is None or pair.other is None:
                self.pairs[pair.between].left_out += 1
            else:
                votes = VerdictPair(pair.one, pair.other, family, pair.kind)
                self.pairs[pair.between].pairs.append(votes)

    def compared_pairs(self) -> list[tuple[RaterPair, Agreement]]:
        """All pairs of raters that have both voted on an item, with their agreement; those with the
        engine first."""
        compared = [
            (between, agreement) for between, agreement in self.pairs.items() if agreement.pairs
        ]
        return sorted(compared, key=lambda pair: (not pair[0].engine, pair[0]))


def rating_pairs(evaluation: ReviewedEvaluation) -> Iterator[RatingPair]:
    """The verdicts of every two raters on one evaluation: judges, checks and people."""
    items, state = checklist(evaluation.recorded.case.expectation), evaluation.state
    return chain(
        _judges(items, state), _engine_and_people(items, evaluation), _people(items, evaluation)
    )


def engine_verdict(state: Evaluation) -> str | None:
    """`pass` or `fail` by the engine's score of an evaluation; `None` without a score."""
    accuracy = None if state.score is None else state.score.scores.get("accuracy")
    return None if accuracy is None else "pass" if accuracy == 1.0 else "fail"


def _judges(items: Sequence[Item], state: Evaluation) -> Iterator[RatingPair]:
    """The verdicts of every two judges on each item.

    Nothing if the judges gave no verdicts on items.
    """
    if not items or not gave_items(state):
        return
    for decision in decide(items, Judgement("majority", state.verdicts)):
        for (first, one), (second, other) in combinations(
            sorted(decision.votes.items(), key=_rater_of), 2
        ):
            between, item = RaterPair(first, second, "items", True), decision.item
            yield RatingPair(between, _vote(item, one), _vote(item, other), item.key)


def gave_items(state: Evaluation) -> bool:
    """Whether the judges gave verdicts on items, as far as they gave any."""
    return all("items" in (verdict.verdict or {"items"}) for verdict in state.verdicts)


def _rater_of(vote: tuple[str, bool | None]) -> str:
    return vote[0]


def _vote(item: Item, passes: bool | None) -> str | None:
    return None if passes is None else item_outcome(item, passes)


def item_outcome(item: Item, passes: bool) -> ItemOutcome:
    """The outcome of an item that passes or fails.

    An item of must_not_do passes if it did not happen.
    """
    return "happened" if passes == (item.kind != FORBIDDEN) else "did_not_happen"


def _engine_and_people(
    items: Sequence[Item], evaluation: ReviewedEvaluation
) -> Iterator[RatingPair]:
    """The verdicts of the engine (judges or checks) and of each reviewer, on the evaluation and on
    each item."""
    state = evaluation.state
    by = JUDGES if state.verdicts else CHECKS
    verdict = engine_verdict(state)
    decided = decided_items(items, state)
    for reviewer, review in evaluation.latest().items():
        yield RatingPair(
            RaterPair(by, reviewer, "verdicts", True), verdict, clear_verdict(review), VERDICT
        )
        votes = item_votes(review)
        between = RaterPair(by, reviewer, "items", True)
        for item in items:
            yield RatingPair(between, decided.get(item.key), votes.get(item.key), item.key)


def decided_items(items: Sequence[Item], state: Evaluation) -> dict[str, ItemOutcome]:
    """The outcome of each item by the engine's score, by its key, as far as it is scored."""
    scores = state.score.scores if state.score is not None else {}
    return {
        item.key: item_outcome(item, scores[item.key] == 1.0)
        for item in items
        if item.key in scores
    }


def _people(items: Sequence[Item], evaluation: ReviewedEvaluation) -> Iterator[RatingPair]:
    """The verdicts of every two reviewers, on the evaluation and on each item."""
    for (first, one), (second, other) in combinations(sorted(evaluation.latest().items()), 2):
        between = RaterPair(first, second, "verdicts", False)
        yield RatingPair(between, clear_verdict(one), clear_verdict(other), VERDICT)
        first_votes, second_votes = item_votes(one), item_votes(other)
        between = RaterPair(first, second, "items", False)
        for item in items:
            yield RatingPair(
                between, first_votes.get(item.key), second_votes.get(item.key), item.key
            )


_OUTCOMES: Mapping[ItemVerdict, ItemOutcome] = {
    "met": "happened",
    "not_met": "did_not_happen",
    "happened": "happened",
    "did_not_happen": "did_not_happen",
}


def item_votes(review: Reviewed) -> dict[str, ItemOutcome]:
    """The votes of a review, by the key of the item. Items without a verdict are left out."""
    return {item.item: _OUTCOMES[item.verdict] for item in review.items}


def clear_verdict(review: Reviewed) -> str | None:
    """`pass` or `fail`; `None` if the reviewer was not sure."""
    return None if review.verdict == "unclear" else review.verdict
