"""Compares the verdicts of judges and people on the same items. Pure.

Judges are compared on the items that they judged. Where only deterministic checks decided, the
checks are compared instead. Every verdict on an item counts as `met` or `not_met`: `present` is met
for a must_do and not met for a must_not_do, and `did_not_happen` is met. A verdict that is
`unclear`, unreadable or without proof is not a vote; neither is a missing verdict. A pair without
two votes is counted as left out, and is in no agreement.
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

JUDGES = "judges"
CHECKS = "checks"
VERDICT = "verdict"
"""The kind of a verdict on a whole evaluation."""

What = Literal["verdicts", "items"]


class RaterPair(NamedTuple):
    """Two raters of the same items: `judges` together, `checks`, one judge, or a reviewer."""

    one: str
    other: str
    what: What
    engine: bool
    """Whether `one` is the engine or a judge, not a person."""


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
    kind: str


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
        case, state = evaluation.recorded.case, evaluation.state
        items = checklist(case.expectation)
        for between, one, other, kind in chain(
            _judges(items, state), _engine_and_people(items, evaluation), _people(items, evaluation)
        ):
            if one is None or other is None:
                self.pairs[between].left_out += 1
            else:
                self.pairs[between].pairs.append(VerdictPair(one, other, case.family, kind))

    def compared_pairs(self) -> list[tuple[RaterPair, Agreement]]:
        """All pairs of raters that have both voted on an item, with their agreement; those with the
        engine first."""
        compared = [
            (between, agreement) for between, agreement in self.pairs.items() if agreement.pairs
        ]
        return sorted(compared, key=lambda pair: (not pair[0].engine, pair[0]))


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
            between = RaterPair(first, second, "items", True)
            yield RatingPair(between, vote_word(one), vote_word(other), decision.item.kind)


def gave_items(state: Evaluation) -> bool:
    """Whether the judges gave verdicts on items, as far as they gave any."""
    return all("items" in (verdict.verdict or {"items"}) for verdict in state.verdicts)


def _rater_of(vote: tuple[str, bool | None]) -> str:
    return vote[0]


def vote_word(met: bool | None) -> str | None:
    """`met` or `not_met`; `None` without a vote."""
    return None if met is None else "met" if met else "not_met"


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
            yield RatingPair(between, decided.get(item.key), votes.get(item.key), item.kind)


def decided_items(items: Sequence[Item], state: Evaluation) -> dict[str, str]:
    """`met` or `not_met` by the engine's score, by the key of the item, as far as it is scored."""
    scores = state.score.scores if state.score is not None else {}
    return {
        item.key: "met" if scores[item.key] == 1.0 else "not_met"
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
                between, first_votes.get(item.key), second_votes.get(item.key), item.kind
            )


_VOTES: Mapping[ItemVerdict, str] = {
    "met": "met",
    "not_met": "not_met",
    "did_not_happen": "met",
    "happened": "not_met",
}


def item_votes(review: Reviewed) -> dict[str, str]:
    """The votes of a review, by the key of the item: `met` or `not_met`.

    Items without a verdict are left out.
    """
    return {item.item: _VOTES[item.verdict] for item in review.items}


def clear_verdict(review: Reviewed) -> str | None:
    """`pass` or `fail`; `None` if the reviewer was not sure."""
    return None if review.verdict == "unclear" else review.verdict
