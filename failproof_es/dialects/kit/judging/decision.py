"""Combines the judges' verdicts on an item into one decision.

The vote of a judge is missing if the judge failed or its verdict on the item is void. Under
`majority` more than half of all judges asked must agree, under the other rules all of them;
otherwise the item is undecided. So a majority decides even if votes are missing: no missing vote
could overturn it. The order of the judges has no influence on any decision.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from failproof_es.core.evaluation import Judgement
from failproof_es.dialects.kit.judging.checklist import Item

ECHOED, ADDRESSED, UNCALLED = "echoed", "addressed", "not_called"
"""Prefixes of the reasons why the model's own words or missing calls void a vote in its favour."""
_BY_OWN_WORDS = (f"{ECHOED}:", f"{ADDRESSED}:", f"{UNCALLED}:")


@dataclass(frozen=True, slots=True)
class ItemDecision:
    """The judges' joint decision on an item. `passes` is `None` if the item is undecided."""

    item: Item
    passes: bool | None
    votes: Mapping[str, bool | None]
    """Each judge's vote by its key: whether the item passes; `None` for a missing vote. Not the
    word of the verdict: `present` passes a must_do and fails a must_not_do."""
    quotations: tuple[str, ...]
    """The distinct quotations of the judges that agree."""
    lacks_votes: bool
    """Whether the item is undecided and the missing votes could decide it."""
    is_disputed: bool
    """Whether two votes differ."""

    @property
    def word(self) -> str:
        """The decision for people: `happened`, `did not happen`, `not decided`."""
        return "not decided" if self.passes is None else self.item.describe(self.passes)


def decide(
    items: Sequence[Item], judgement: Judgement, *, own_words_void: bool = True
) -> list[ItemDecision]:
    """The decision on every item, in order.

    A verdict is void, so that it does not count, if it is malformed or lacks proof. One in the
    model's favour is also void if the model dictated it, addressed judges in the quoted words, or
    did not make the tool call that the item is about. With `own_words_void=False` the latter count:
    a case that fails even with them has failed, whatever the model wrote.
    """
    counted = () if own_words_void else _BY_OWN_WORDS
    voices = [
        (verdict.judge, _verdicts_by_item(verdict.verdict, counted))
        for verdict in judgement.verdicts
    ]
    return [_decision(item, voices, judgement.needed) for item in items]


def judge_agreement(decisions: Sequence[ItemDecision]) -> tuple[int, int]:
    """(agreeing pairs, pairs) of judges that both vote on an item, over all items.

    A pair agrees if both pass the item or both fail it.
    """
    pairs = [
        (one, other)
        for decision in decisions
        for one, other in combinations(decision.votes.values(), 2)
        if one is not None and other is not None
    ]
    return sum(one == other for one, other in pairs), len(pairs)


def _verdicts_by_item(
    verdict: Mapping[str, Any] | None, counted: tuple[str, ...]
) -> dict[str, Mapping[str, Any]]:
    """A judge's verdicts by item key, without void ones; empty without a `verdict`.

    A void verdict is one that does not count. It is kept if the reason, in its `void`, begins with
    one of `counted`.
    """
    item_verdicts = verdict["items"] if verdict is not None else []
    return {
        item_verdict["item"]: item_verdict
        for item_verdict in item_verdicts
        if item_verdict["void"] is None or item_verdict["void"].startswith(counted)
    }


def _decision(
    item: Item, voices: Sequence[tuple[str, Mapping[str, Mapping[str, Any]]]], needed: int
) -> ItemDecision:
    entries = [voice.get(item.key) for _, voice in voices]
    words = [None if entry is None else str(entry["verdict"]) for entry in entries]
    word, votes_for = _most_frequent(words)
    decided = word if votes_for >= needed else None
    votes = [None if one is None else one == item.words.passes for one in words]
    quoted = [entry["quote"] for entry in entries if entry and entry["verdict"] == decided]
    return ItemDecision(
        item,
        passes=None if decided is None else decided == item.words.passes,
        votes={judge: vote for (judge, _), vote in zip(voices, votes, strict=True)},
        quotations=tuple(dict.fromkeys(quote for quote in quoted if quote)),
        lacks_votes=decided is None and votes_for + words.count(None) >= needed,
        is_disputed={True, False} <= set(votes),
    )


def _most_frequent(words: Sequence[str | None]) -> tuple[str | None, int]:
    """The most frequent verdict and its number of judges; (`None`, 0) without any verdict."""
    counted = Counter(word for word in words if word is not None).most_common(1)
    return counted[0] if counted else (None, 0)
