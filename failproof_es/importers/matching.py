"""Ways to compare an answer with the expected one: the words of `--match` and of its columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from failproof_es.importers.protocol import Check, CheckKind

_NOT = "not-"
_CHECKS: Mapping[str, tuple[CheckKind, bool]] = {
    "contains": ("contains", False),
    "icontains": ("contains", True),
    "equals": ("equals", False),
    "iequals": ("equals", True),
    "begins": ("begins", False),
    "ends": ("ends", False),
    "regex": ("regex", False),
}
"""The kind of check, and whether it ignores case, by its word."""
_JUDGE, _REFUSAL = "judge", "refusal"
WORDS = f"{', '.join([*_CHECKS, _REFUSAL])}, each also with {_NOT} before it, and {_JUDGE}"
_LOOKS_LIKE_REGEX = re.compile(
    r"\\[bBdDwWsS](?![A-Za-z])|\(\?[a-zA-Z:=!<]|\.[*+]|^\^|\[[^\]]{1,50}\][*+?{]|\[\^|\[a-z|\[0-9"
)
"""Signs of a regular expression that hardly stand in an answer: `C++` and `\\frac` have none."""


class AnswerMatch(NamedTuple):
    """A comparison of an answer with the expected one.

    `kind` is that of a check. Without one, the answer must refuse, or judges or people decide.
    """

    kind: CheckKind | None = None
    ignore_case: bool = False
    negated: bool = False
    is_refusal: bool = False

    @property
    def needs_text(self) -> bool:
        """Whether there must be an expected answer."""
        return not self.is_refusal

    def misreads(self, text: str) -> bool:
        """Whether the text looks like a regular expression, and is compared as it stands."""
        is_text = self.kind is not None and self.kind != "regex"
        return is_text and _LOOKS_LIKE_REGEX.search(text) is not None


def match_of(word: str) -> AnswerMatch | None:
    """The comparison that a word means; `None` if it means none."""
    plain = word.strip().lower()
    if plain == _JUDGE:
        return AnswerMatch()
    negated, plain = plain.startswith(_NOT), plain.removeprefix(_NOT)
    if plain == _REFUSAL:
        return AnswerMatch(negated=negated, is_refusal=True)
    if plain not in _CHECKS:
        return None
    kind, ignore_case = _CHECKS[plain]
    return AnswerMatch(kind, ignore_case, negated)


@dataclass(slots=True)
class RowExpectation:
    """The expectations of one row. The fields are those of `ImportedCase`."""

    checks: list[Check] = field(default_factory=list)
    criteria: list[str] = field(default_factory=list)
    refusal: bool | None = None

    def add(self, match: AnswerMatch, expected: Sequence[str]) -> None:
        """Add an expectation: an answer that matches one of the texts, or none if negated."""
        if match.is_refusal:
            self.refusal = not match.negated
        elif match.kind is None:
            one_of = " or: ".join(expected)
            self.criteria.append(f"Gives this answer, or says the same in other words: {one_of}")
        else:
            check = Check(match.kind, tuple(expected), match.negated, match.ignore_case)
            self.checks.append(check)
