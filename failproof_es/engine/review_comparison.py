"""Who said what of the same thing: judges, people, and each among themselves. Pure.

Judges are compared where they spoke; where deterministic checks alone decided, those are
compared in their place. Verdicts that are `unclear` and items that nobody decided are left
out, and so is whatever a judge said without proof.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations
from typing import Literal, NamedTuple

from failproof_es.dialects.judging import Item, decide
from failproof_es.engine.reviews import ReviewedEvaluation, items_of
from failproof_es.evaluation import Evaluation, Judgement

JUDGES = "judges"
CHECKS = "checks"

What = Literal["verdicts", "items"]


class Between(NamedTuple):
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


Said = tuple[Between, str, str]


@dataclass(slots=True)
class Comparison:
    """The pairs found so far."""

    pairs: defaultdict[Between, list[Pair]] = field(default_factory=lambda: defaultdict(list))

    def add(self, evaluation: ReviewedEvaluation) -> None:
        """Take in what was said of one evaluation."""
        case, state = evaluation.recorded.case, evaluation.state
        items = items_of(case)
        for between, one, other in chain(
            _judges(items, state), _engine_and_people(items, evaluation), _people(evaluation)
        ):
            self.pairs[between].append(Pair(one, other, case.family))

    def found(self) -> list[tuple[Between, list[Pair]]]:
        """Everything found; what the engine has to do with first."""
        return sorted(self.pairs.items(), key=lambda each: (not each[0].engine, each[0]))


def engine_verdict(state: Evaluation) -> str | None:
    """`pass` or `fail` as the engine scored it; `None` where it did not."""
    accuracy = None if state.score is None else state.score.scores.get("accuracy")
    return None if accuracy is None else "pass" if accuracy == 1.0 else "fail"


def _judges(items: Sequence[Item], state: Evaluation) -> Iterator[Said]:
    """What every two judges said of an item."""
    if not items or any("items" not in (each.verdict or {"items"}) for each in state.verdicts):
        return
    for decision in decide(items, Judgement("majority", state.verdicts)):
        for (first, one), (second, other) in combinations(decision.votes.items(), 2):
            if one is not None and other is not None:
                yield Between(first, second, "items", True), one, other


def _engine_and_people(items: Sequence[Item], evaluation: ReviewedEvaluation) -> Iterator[Said]:
    """What the engine came to, and what each reviewer did."""
    state = evaluation.state
    by = JUDGES if state.verdicts else CHECKS
    verdict = engine_verdict(state)
    scores = state.score.scores if state.score is not None else {}
    decided = {item.key: scores[item.key] == 1.0 for item in items if item.key in scores}
    for reviewer, review in evaluation.latest().items():
        if verdict is not None and review.verdict != "unclear":
            yield Between(by, reviewer, "verdicts", True), verdict, review.verdict
        for each in review.items:
            if each.item in decided:
                engine = "met" if decided[each.item] else "not_met"
                yield Between(by, reviewer, "items", True), engine, each.verdict


def _people(evaluation: ReviewedEvaluation) -> Iterator[Said]:
    """What every two reviewers said."""
    for (first, one), (second, other) in combinations(sorted(evaluation.latest().items()), 2):
        if "unclear" not in (one.verdict, other.verdict):
            yield Between(first, second, "verdicts", False), one.verdict, other.verdict
        said = {each.item: each.verdict for each in other.items}
        for each in one.items:
            if each.item in said:
                yield Between(first, second, "items", False), each.verdict, said[each.item]
