"""The items of one evaluation on which verdicts differ or a vote is void, with quotations. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from failproof_es.dialects.kit.judging import Item, checklist
from failproof_es.dialects.kit.judging.reply import NOTHING_DECIDED
from failproof_es.engine.reviews.comparison import (
    CHECKS,
    JUDGES,
    VERDICT,
    RatingPair,
    clear_verdict,
    decided_items,
    engine_verdict,
    gave_items,
    item_outcome,
    item_votes,
)
from failproof_es.engine.reviews.people import ReviewedEvaluation
from failproof_es.events import Reviewed, Severity
from failproof_es.support.document import Document


class Vote(Document):
    """The vote of a judge, the checks or a person on an item, and the words it rests on."""

    by: str
    """A judge's key, `judges` together, `checks`, or a reviewer."""
    verdict: str | None
    """`None` if a judge gave none."""
    quote: str | None = None
    """The model's words on which a judge based its verdict; invented ones if it is void for that.
    """
    void: str | None = None
    """Why the vote does not count; `None` if it does."""
    severity: Severity | None = None
    """The severity that a reviewer observed in the whole evaluation."""
    notes: str | None = None
    """A reviewer's note on the item."""


class DisputedItem(Document):
    """An item of an evaluation on which two verdicts differ, or on which a vote is void."""

    suite: str
    case: str
    model: str
    repetition: int
    evaluation_id: UUID
    item: str
    """The item's key, or `verdict` for the whole evaluation."""
    text: str | None
    votes: tuple[Vote, ...]

    @property
    def is_disputed(self) -> bool:
        """Whether two votes that count differ."""
        return len({vote.verdict for vote in self.votes if vote.void is None}) > 1

    @property
    def void_votes(self) -> int:
        """The number of votes that do not count."""
        return sum(vote.void is not None for vote in self.votes)


def disputed_items(evaluation: ReviewedEvaluation) -> Iterator[DisputedItem]:
    """The items with different or void votes, in the order of the checklist, and the evaluation.

    A verdict that is unclear or missing is no vote.
    """
    items = checklist(evaluation.recorded.case.expectation)
    for name, votes in {
        **_votes_on_items(items, evaluation),
        VERDICT: _verdicts(evaluation),
    }.items():
        item = _item(evaluation, name, votes)
        if item.is_disputed or item.void_votes:
            yield item


def disagreement(evaluation: ReviewedEvaluation, pair: RatingPair) -> DisputedItem:
    """The item that two raters disagree on, with their votes, first `one`, last `other`.

    The judges together are followed by the vote of each judge.
    """
    one, other = pair.between.one, pair.between.other
    if pair.item == VERDICT:
        votes = _verdicts(evaluation)
    else:
        items = checklist(evaluation.recorded.case.expectation)
        votes = _votes_on_items(items, evaluation)[pair.item]
    if one == JUDGES and pair.item != VERDICT:
        by_judges = [Vote(by=JUDGES, verdict=pair.one), *_votes_by(votes, _judges_of(evaluation))]
    else:
        by_judges = _votes_by(votes, {one})
    return _item(evaluation, pair.item, [*by_judges, *_votes_by(votes, {other})])


def _votes_by(votes: Sequence[Vote], raters: Collection[str]) -> list[Vote]:
    return [vote for vote in votes if vote.by in raters]


def _judges_of(evaluation: ReviewedEvaluation) -> set[str]:
    return {verdict.judge for verdict in evaluation.state.verdicts}


def _item(evaluation: ReviewedEvaluation, name: str, votes: Sequence[Vote]) -> DisputedItem:
    case, key = evaluation.recorded.case, evaluation.recorded.key
    texts = {item.key: item.text for item in checklist(case.expectation)}
    return DisputedItem(
        suite=case.suite_id,
        case=case.case_id,
        model=key.model_key,
        repetition=key.repetition,
        evaluation_id=key.evaluation_id,
        item=name,
        text=texts.get(name),
        votes=tuple(votes),
    )


def _verdicts(evaluation: ReviewedEvaluation) -> list[Vote]:
    """The votes on the whole evaluation: of the engine, of each reviewer, and of each judge whose
    verdicts on all items are void."""
    state = evaluation.state
    verdict = engine_verdict(state)
    by = JUDGES if state.verdicts else CHECKS
    votes = [] if verdict is None else [Vote(by=by, verdict=verdict)]
    for reviewer, review in evaluation.latest().items():
        if (given := clear_verdict(review)) is not None:
            votes.append(_reviewers_vote(reviewer, review, given))
    votes += [
        Vote(by=judged.judge, verdict=None, void=judged.problem)
        for judged in state.verdicts
        if (judged.problem or "").startswith(f"{NOTHING_DECIDED}:")
    ]
    return votes


def _votes_on_items(items: Sequence[Item], evaluation: ReviewedEvaluation) -> dict[str, list[Vote]]:
    """The votes on each item: of each judge, else of the checks, and of each reviewer."""
    state = evaluation.state
    votes: dict[str, list[Vote]] = {item.key: [] for item in items}
    by_key = {item.key: item for item in items}
    if state.verdicts and gave_items(state):
        for verdict in state.verdicts:
            for entry in (verdict.verdict or {}).get("items", ()):
                if (item := by_key.get(entry["item"])) is not None:
                    votes[item.key].append(_judges_vote(verdict.judge, item, entry))
    elif not state.verdicts:
        for name, word in decided_items(items, state).items():
            votes[name].append(Vote(by=CHECKS, verdict=word))
    for reviewer, review in evaluation.latest().items():
        for name, word in item_votes(review).items():
            if name in votes:
                votes[name].append(_reviewers_vote(reviewer, review, word))
    return votes


def _reviewers_vote(reviewer: str, review: Reviewed, verdict: str) -> Vote:
    notes = review.notes or None
    return Vote(by=reviewer, verdict=verdict, severity=review.severity, notes=notes)


def _judges_vote(judge: str, item: Item, entry: Mapping[str, Any]) -> Vote:
    """A judge's vote on the item; `entry` is its verdict, as `read_verdicts` gives it."""
    word = entry["verdict"]
    if word in (item.words.passes, item.words.fails):
        word = item_outcome(item, word == item.words.passes)
    return Vote(by=judge, verdict=word, quote=entry["quote"] or None, void=entry["void"])
