"""Combines the judges' verdicts on an item into one decision.

A judge that failed, and one whose verdict on the item is void, says nothing: its vote is missing.
Under `majority` more than half of all judges asked must say the same; under `unanimous` every one
of them. Where that is not so, the item stays undecided. So a majority of the judges that were asked
decides although other votes are missing: no missing vote could turn it, whichever way it went.
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
"""What a reason begins with why a vote in the model's favour is void by the model's own words."""
_BY_OWN_WORDS = (f"{ECHOED}:", f"{ADDRESSED}:", f"{UNCALLED}:")


@dataclass(frozen=True, slots=True)
class ItemDecision:
    """What the judges together say of an item. `passes` is `None` where it stays undecided."""

    item: Item
    passes: bool | None
    votes: Mapping[str, bool | None]
    """Whether each judge, by its key, holds that the item passes; `None` where it says nothing.

    Not its word: `present` is what a must_do wants and what a must_not_do forbids."""
    quotations: tuple[str, ...]
    """What the judges that agree quote, each once."""
    lacks_votes: bool
    """Whether it is undecided, and could be decided by the votes that are missing."""

    @property
    def word(self) -> str:
        """The verdict in the item's own words, e.g. `present`."""
        if self.passes is None:
            return "not decided"
        return self.item.words.passes if self.passes else self.item.words.fails


def decide(
    items: Sequence[Item], judgement: Judgement, *, own_words_void: bool = True
) -> list[ItemDecision]:
    """The decision on every item, in order.

    Without `own_words_void` votes count that the model's own words made void: they let no case
    pass, but a case that fails with them is not to be saved by these words.
    """
    counted = () if own_words_void else _BY_OWN_WORDS
    voices = [(verdict.judge, _voice(verdict.verdict, counted)) for verdict in judgement.verdicts]
    return [_decision(item, voices, judgement.rule == "unanimous") for item in items]


def judge_agreement(decisions: Sequence[ItemDecision]) -> tuple[int, int]:
    """(pairs that agree, pairs): over every item and every two judges that both speak of it."""
    pairs = [
        (one, other)
        for decision in decisions
        for one, other in combinations(decision.votes.values(), 2)
        if one is not None and other is not None
    ]
    return sum(one == other for one, other in pairs), len(pairs)


def _voice(
    verdict: Mapping[str, Any] | None, counted: tuple[str, ...]
) -> dict[str, Mapping[str, Any]]:
    """What a judge says, by item; nothing of what is void but for these reasons."""
    item_verdicts = verdict["items"] if verdict is not None else []
    return {
        item_verdict["item"]: item_verdict
        for item_verdict in item_verdicts
        if item_verdict["void"] is None or item_verdict["void"].startswith(counted)
    }


def _decision(
    item: Item, voices: Sequence[tuple[str, Mapping[str, Mapping[str, Any]]]], unanimous: bool
) -> ItemDecision:
    entries = [voice.get(item.key) for _, voice in voices]
    words = [None if entry is None else str(entry["verdict"]) for entry in entries]
    needed = len(words) if unanimous else len(words) // 2 + 1
    word, votes_for = _most_said(words)
    decided = word if votes_for >= needed else None
    votes = [None if one is None else one == item.words.passes for one in words]
    quoted = [entry["quote"] for entry in entries if entry and entry["verdict"] == decided]
    return ItemDecision(
        item,
        passes=None if decided is None else decided == item.words.passes,
        votes={judge: vote for (judge, _), vote in zip(voices, votes, strict=True)},
        quotations=tuple(dict.fromkeys(quote for quote in quoted if quote)),
        lacks_votes=decided is None and votes_for + words.count(None) >= needed,
    )


def _most_said(words: Sequence[str | None]) -> tuple[str | None, int]:
    """The word that most judges say, and how many do."""
    counted = Counter(word for word in words if word is not None).most_common(1)
    return counted[0] if counted else (None, 0)
