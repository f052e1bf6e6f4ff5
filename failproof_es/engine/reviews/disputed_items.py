"""The items of one evaluation on which verdicts differ, with the quotations of judges. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from failproof_es.core.evaluation import Judgement
from failproof_es.dialects.kit.judging import Item, checklist, decide
from failproof_es.engine.reviews.comparison import (
    CHECKS,
    JUDGES,
    VERDICT,
    clear_verdict,
    decided_items,
    engine_verdict,
    gave_items,
    item_votes,
    vote_word,
)
from failproof_es.engine.reviews.people import ReviewedEvaluation
from failproof_es.events.side_streams import FORBIDDEN
from failproof_es.support.document import Document


class Vote(Document):
    """What a judge, the checks or a person said of an item, and on which words."""

    by: str
    """A judge's key, `judges` together, `checks`, or a reviewer."""
    verdict: str
    quote: str | None = None
    """The model's words on which a judge based its verdict."""
    notes: str | None = None
    """What a reviewer noted on the whole evaluation."""


class DisputedItem(Document):
    """An item of an evaluation on which two verdicts differ."""

    suite: str
    case: str
    model: str
    repetition: int
    item: str
    """The item's key, or `verdict` for the whole evaluation."""
    text: str | None
    votes: tuple[Vote, ...]


def disputed_items(evaluation: ReviewedEvaluation) -> Iterator[DisputedItem]:
    """The items with different votes, in the order of the checklist, and the whole evaluation.

    A verdict that is unclear, unproved or missing is no vote.
    """
    case, key = evaluation.recorded.case, evaluation.recorded.key
    items = checklist(case.expectation)
    asked = {
        "suite": case.suite_id, "case": case.case_id, "model": key.model_key,
        "repetition": key.repetition,
    }  # fmt: skip
    texts: dict[str, str | None] = {item.key: item.text for item in items}
    for name, votes in {
        **_votes_on_items(items, evaluation),
        VERDICT: _verdicts(evaluation),
    }.items():
        if len({vote.verdict for vote in votes}) > 1:
            yield DisputedItem(**asked, item=name, text=texts.get(name), votes=tuple(votes))


def _verdicts(evaluation: ReviewedEvaluation) -> list[Vote]:
    """The votes on the whole evaluation: of the engine, and of each reviewer."""
    state = evaluation.state
    verdict = engine_verdict(state)
    by = JUDGES if state.verdicts else CHECKS
    votes = [] if verdict is None else [Vote(by=by, verdict=verdict)]
    for reviewer, review in evaluation.latest().items():
        if (given := clear_verdict(review)) is not None:
            votes.append(Vote(by=reviewer, verdict=given, notes=review.notes or None))
    return votes


def _votes_on_items(items: Sequence[Item], evaluation: ReviewedEvaluation) -> dict[str, list[Vote]]:
    """The votes on each item: of each judge, else of the checks, and of each reviewer."""
    state = evaluation.state
    votes: dict[str, list[Vote]] = {item.key: [] for item in items}
    if state.verdicts and gave_items(state):
        quotes = {verdict.judge: _quotes(verdict.verdict) for verdict in state.verdicts}
        for decision in decide(items, Judgement("majority", state.verdicts)):
            name = decision.item.key
            for judge, met in decision.votes.items():
                if (word := vote_word(met)) is not None:
                    quote = quotes[judge].get(name)
                    votes[name].append(Vote(by=judge, verdict=_told(name, word), quote=quote))
    elif not state.verdicts:
        for name, word in decided_items(items, state).items():
            votes[name].append(Vote(by=CHECKS, verdict=_told(name, word)))
    for reviewer, review in evaluation.latest().items():
        for name, word in item_votes(review).items():
            if name in votes:
                vote = Vote(by=reviewer, verdict=_told(name, word), notes=review.notes or None)
                votes[name].append(vote)
    return votes


def _told(item: str, vote: str) -> str:
    """A vote as a reviewer gives it: an item of must_not_do `happened` or `did_not_happen`."""
    if item.partition(".")[0] != FORBIDDEN:
        return vote
    return "did_not_happen" if vote == "met" else "happened"


def _quotes(verdict: dict[str, Any] | None) -> dict[str, str]:
    """The quotations of a judge, by item; without empty ones."""
    given = (verdict or {}).get("items", ())
    return {item["item"]: item["quote"] for item in given if item.get("quote")}
