"""Who said what of the same thing: judges and people, and people among themselves. Pure.

Judges are compared where they spoke; where deterministic checks alone decided, those are
compared in their place. Verdicts that are `unclear` and items that nobody decided are left
out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal, NamedTuple
from uuid import UUID

from failproof_es.engine.reviews import ReviewedEvaluation, items_of
from failproof_es.evaluation import Evaluation
from failproof_es.events import Reviewed

JUDGES = "judges"
CHECKS = "checks"

What = Literal["verdicts", "items"]


class Between(NamedTuple):
    """Two that speak of the same: `judges` or `checks` or a reviewer, and a reviewer."""

    one: str
    other: str
    what: What
    engine: bool
    """Whether `one` is the engine's own."""


class Pair(NamedTuple):
    """What both said, and of which case: all that is said of one case belongs together."""

    one: str
    other: str
    case: UUID


@dataclass(slots=True)
class Comparison:
    """The pairs found so far."""

    pairs: defaultdict[Between, list[Pair]] = field(default_factory=lambda: defaultdict(list))

    def add(self, evaluation: ReviewedEvaluation) -> None:
        """Take in what was said of one evaluation."""
        case = evaluation.recorded.key.prompt_id
        latest = evaluation.latest()
        by = JUDGES if evaluation.state.verdicts else CHECKS
        keys = {item.key for item in items_of(evaluation.recorded.case)}
        for reviewer, review in latest.items():
            for what, one, other in _against(evaluation.state, keys, review):
                self.pairs[Between(by, reviewer, what, True)].append(Pair(one, other, case))
        for first, second in combinations(sorted(latest), 2):
            for what, one, other in _between(latest[first], latest[second]):
                self.pairs[Between(first, second, what, False)].append(Pair(one, other, case))

    def found(self) -> list[tuple[Between, list[Pair]]]:
        """Everything found; what the engine has to do with first."""
        return sorted(self.pairs.items(), key=lambda each: (not each[0].engine, each[0]))


def engine_verdict(state: Evaluation) -> str | None:
    """`pass` or `fail` as the engine scored it; `None` where it did not."""
    accuracy = None if state.score is None else state.score.scores.get("accuracy")
    return None if accuracy is None else "pass" if accuracy == 1.0 else "fail"


def _against(
    state: Evaluation, keys: set[str], review: Reviewed
) -> Iterator[tuple[What, str, str]]:
    """What the engine said, and what the reviewer did."""
    verdict = engine_verdict(state)
    if verdict is not None and review.verdict != "unclear":
        yield "verdicts", verdict, review.verdict
    scores = state.score.scores if state.score is not None else {}
    for each in review.items:
        if each.item in keys and each.item in scores:
            yield "items", "met" if scores[each.item] == 1.0 else "not_met", each.verdict


def _between(one: Reviewed, other: Reviewed) -> Iterator[tuple[What, str, str]]:
    if "unclear" not in (one.verdict, other.verdict):
        yield "verdicts", one.verdict, other.verdict
    said = {each.item: each.verdict for each in other.items}
    for each in one.items:
        if each.item in said:
            yield "items", each.verdict, said[each.item]
