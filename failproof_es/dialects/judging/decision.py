"""From what each judge says of each item to one decision on the item.

A judge that failed, and one whose verdict on the item is void, says nothing. Under
`majority` more than half of all judges asked must say the same; under `unanimous` every one
of them. Where that is not so, the item stays undecided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from failproof_es.dialects.judging.checklist import Item
from failproof_es.evaluation import Judgement


@dataclass(frozen=True, slots=True)
class ItemDecision:
    """What the judges together say of an item. `passes` is `None` where it stays undecided."""

    item: Item
    passes: bool | None
    votes: Mapping[str, str | None]
    """The verdict of each judge, by its key; `None` where it says nothing."""


def decide(items: Sequence[Item], judgement: Judgement) -> list[ItemDecision]:
    """The decision on every item, in order."""
    voices = [_voice(verdict.verdict) for verdict in judgement.verdicts]
    keys = [verdict.judge for verdict in judgement.verdicts]
    decisions = []
    for item in items:
        said = [voice.get(item.key) for voice in voices]
        word = _agreed(said, judgement.rule == "unanimous")
        passes = None if word is None else word == item.words.passes
        decisions.append(ItemDecision(item, passes, dict(zip(keys, said, strict=True))))
    return decisions


def judge_agreement(decisions: Sequence[ItemDecision]) -> tuple[int, int]:
    """(pairs that agree, pairs): over every item and every two judges that both speak of it."""
    pairs = [
        (one, other)
        for decision in decisions
        for one, other in combinations(decision.votes.values(), 2)
        if one is not None and other is not None
    ]
    return sum(one == other for one, other in pairs), len(pairs)


def _voice(verdict: Mapping[str, list[dict[str, str | None]]] | None) -> dict[str, str]:
    """What a judge says, by item; nothing of what is void."""
    listed = verdict["items"] if verdict is not None else []
    return {
        str(each["item"]): str(each["verdict"])
        for each in listed
        if each["void"] is None and each["verdict"] is not None
    }


def _agreed(said: Sequence[str | None], unanimous: bool) -> str | None:
    """The word that enough judges say, if any."""
    counted = Counter(word for word in said if word is not None).most_common(1)
    if not counted:
        return None
    word, votes = counted[0]
    enough = votes == len(said) if unanimous else votes * 2 > len(said)
    return word if enough else None
