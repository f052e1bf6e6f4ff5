"""The items that a judge gives a verdict on, and what each verdict needs to be believed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["must_do", "must_not_do", "pass_criteria"]


@dataclass(frozen=True, slots=True)
class Words:
    """The two verdicts on a kind of item. Every verdict in `quoted` needs a quotation."""

    passes: str
    fails: str
    quoted: frozenset[str]


WORDS: Mapping[Kind, Words] = {
    "must_do": Words("present", "absent", frozenset({"present"})),
    "must_not_do": Words("absent", "present", frozenset({"present"})),
    "pass_criteria": Words("met", "not_met", frozenset({"met"})),
}
"""What is claimed to be there is quoted; what is not there can't be."""


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of the checklist. `key` names it to the judge: `must_do.1`."""

    key: str
    kind: Kind
    text: str

    @property
    def words(self) -> Words:
        """The verdicts that can be given on it."""
        return WORDS[self.kind]


def checklist(expected: Mapping[str, Sequence[str]]) -> tuple[Item, ...]:
    """The items of an `expected_behavior` (specification 002), list by list, counted from 1."""
    return tuple(
        Item(f"{kind}.{number}", kind, text)
        for kind in WORDS
        for number, text in enumerate(expected.get(kind, ()), 1)
    )
