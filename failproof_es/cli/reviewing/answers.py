"""The answers that a reviewer may give, at a prompt or in a cell of a spreadsheet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeVar

from failproof_es.events import ItemVerdict, ReviewVerdict, Severity
from failproof_es.events.side_streams import FORBIDDEN
from failproof_es.support.untrusted_text import one_line

W = TypeVar("W", bound=str)

VERDICTS: tuple[ReviewVerdict, ...] = ("pass", "fail", "unclear")
_MET: Mapping[str, ItemVerdict] = {"met": "met", "not met": "not_met"}
_HAPPENED: Mapping[str, ItemVerdict] = {
    "happened": "happened",
    "did not happen": "did_not_happen",
}
HOLDS: Mapping[str, tuple[ItemVerdict, ItemVerdict]] = {
    "must_do": ("met", "not_met"),
    FORBIDDEN: ("did_not_happen", "happened"),
    "pass_criteria": ("met", "not_met"),
}
"""By kind of item: the verdict that the case's demand holds, and the opposite one."""
SEVERITIES: tuple[Severity, ...] = ("S0", "S1", "S2", "S3")
LONGEST_NAME = 200

SKIP: Literal["skip"] = "skip"


class InvalidAnswer(ValueError):
    """The input is not a valid answer. The message lists the valid ones."""


def item_verdicts(item: str) -> Mapping[str, ItemVerdict]:
    """The verdicts on the item with this key, by the words for them in a sheet or at a prompt."""
    return _HAPPENED if item.partition(".")[0] == FORBIDDEN else _MET


def item_verdict(item: str, text: str) -> ItemVerdict:
    """The verdict on the item with this key. Raises `InvalidAnswer`."""
    verdicts = item_verdicts(item)
    return verdicts[word(text.replace("_", " "), tuple(verdicts))]


def overall_verdict(text: str) -> ReviewVerdict:
    """`pass`, `fail` or `unclear`. Raises `InvalidAnswer`."""
    return word(text, VERDICTS)


def severity(text: str) -> Severity | None:
    """`S0` to `S3`; `None` for an empty text or `none`. Raises `InvalidAnswer`."""
    if text.strip().lower() in ("", "none"):
        return None
    return word(text, SEVERITIES)


def tags(text: str) -> tuple[str, ...]:
    """The tags between commas, without duplicates, in their order. Raises `InvalidAnswer`."""
    parts = [part.strip() for part in valid(text).split(",")]
    return tuple(dict.fromkeys(part for part in parts if part))


def name(text: str) -> str:
    """A reviewer's name: one line without invisible characters. Raises `InvalidAnswer`."""
    reviewer = valid(text).strip()
    if not reviewer or len(reviewer) > LONGEST_NAME or one_line(reviewer) != reviewer:
        raise InvalidAnswer(f"a name has 1 to {LONGEST_NAME} visible characters")
    return reviewer


def valid(text: str) -> str:
    """The text, if it is UTF-8: a terminal may send invalid bytes. Raises `InvalidAnswer`."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidAnswer("this is not UTF-8") from None
    return text


def word(text: str, words: tuple[W, ...]) -> W:
    """The word that `text` equals or abbreviates. Raises `InvalidAnswer`."""
    answer = " ".join(text.split()).lower()
    fitting = [candidate for candidate in words if answer and candidate.lower().startswith(answer)]
    exact = [candidate for candidate in fitting if candidate.lower() == answer]
    if len(matches := exact or fitting) != 1:
        raise InvalidAnswer(f"write one of: {', '.join(words)}")
    return matches[0]
