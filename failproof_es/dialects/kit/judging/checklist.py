"""The items that a judge gives a verdict on, and the proof that each verdict needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from failproof_es.dialects.kit.judging.absence import Absence, states_absence
from failproof_es.events.line import describe_verdict

Kind = Literal["must_do", "must_not_do", "pass_criteria"]


@dataclass(frozen=True, slots=True)
class ItemVerdicts:
    """The two verdicts that a judge can give on a kind of item: `passes` and `fails`.

    Every verdict in `quoted` needs a quotation.
    """

    passes: str
    fails: str
    quoted: frozenset[str]


WORDS: Mapping[Kind, ItemVerdicts] = {
    "must_do": ItemVerdicts("present", "absent", frozenset({"present"})),
    "must_not_do": ItemVerdicts("absent", "present", frozenset({"present"})),
    "pass_criteria": ItemVerdicts("met", "not_met", frozenset({"met"})),
}
"""A verdict that claims something is present needs a quotation; an absence has none."""
ABSENCE = ItemVerdicts("met", "not_met", frozenset({"not_met"}))
"""The verdicts on an item that states an absence: words that break the item are quoted."""


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of the checklist. `key` names it to the judge: `must_do.1`."""

    key: str
    kind: Kind
    text: str
    absence: bool = False
    """Whether the item states that something is absent."""

    @property
    def name(self) -> str:
        """The key for people: `must_do 1`."""
        return self.key.replace(".", " ")

    def describe(self, passes: bool) -> str:
        """A decision on the item for people: `happened` or `did not happen`."""
        return describe_verdict(self.words.passes if passes else self.words.fails)

    @property
    def words(self) -> ItemVerdicts:
        """The verdicts that a judge can give on the item."""
        return ABSENCE if self.absence else WORDS[self.kind]


def is_item_key(name: str) -> bool:
    """Whether the name is an item's key, such as `must_do.1`: another item in each case."""
    kind, _, number = name.partition(".")
    return kind in WORDS and number.isdecimal()


def checklist(expected: Mapping[str, Sequence[str]]) -> tuple[Item, ...]:
    """The items of an `expected_behavior` (specification 002), list by list, counted from 1.

    Empty if all lists are empty. The items whose keys are in `absences` state an absence. A case
    that was recorded without `absences` has none, whatever its items say, so that a replay judges
    it as the run did.
    """
    absences = expected.get("absences", ())
    return tuple(
        Item(key, kind, text, absence=key in absences)
        for kind in WORDS
        for number, text in enumerate(expected.get(kind, ()), 1)
        for key in (f"{kind}.{number}",)
    )


def absences(expected: Mapping[str, Sequence[str]]) -> list[str]:
    """The keys of the items that state only an absence; never those of `must_not_do`.

    `expected` is an `expected_behavior` (specification 002).
    """
    return [
        item.key
        for item in checklist({kind: expected.get(kind, ()) for kind in WORDS})
        if item.kind != "must_not_do" and states_absence(item.text) is Absence.WHOLE
    ]
