"""The answers that a reviewer may give, at a prompt or in a cell of a spreadsheet."""

from __future__ import annotations

from typing import Literal, TypeVar

from failproof_es.core.reviewers import reviewer_name
from failproof_es.events import ItemVerdict, ReviewVerdict, Severity
from failproof_es.events.side_streams import item_verdicts

W = TypeVar("W", bound=str)

VERDICTS: tuple[ReviewVerdict, ...] = ("pass", "fail", "unclear")
OUTCOMES = ("happened", "did not happen")
"""A reviewer's answer to an item of any kind."""
SEVERITIES: tuple[Severity, ...] = ("S0", "S1", "S2", "S3")

SKIP: Literal["skip"] = "skip"


class InvalidAnswer(ValueError):
    """The text is not a valid answer. The message lists the valid ones."""


def item_verdict(item: str, text: str) -> ItemVerdict:
    """The recorded verdict on the item with the key `item` that `text` means.

    Raises `InvalidAnswer` if the text is neither one of `OUTCOMES`, or its beginning, nor the
    recorded word itself.
    """
    recorded = item_verdicts(item)
    answer = "_".join(text.replace("_", " ").lower().split())
    if answer in recorded:
        return recorded[recorded.index(answer)]
    return recorded[OUTCOMES.index(word(text.replace("_", " "), OUTCOMES))]


def overall_verdict(text: str) -> ReviewVerdict:
    """The verdict that `text` means: `pass`, `fail` or `unclear`, or its beginning.

    Raises `InvalidAnswer` for any other text.
    """
    return word(text, VERDICTS)


def severity(text: str) -> Severity | None:
    """The severity that `text` means, `S0` to `S3`; `None` for an empty text or `none`.

    Raises `InvalidAnswer` for any other text.
    """
    if text.strip().lower() in ("", "none"):
        return None
    return word(text, SEVERITIES)


def tags(text: str) -> tuple[str, ...]:
    """The tags between commas, without duplicates, in their order; empty for an empty text.

    Raises `InvalidAnswer` if the text is not UTF-8.
    """
    parts = [part.strip() for part in valid(text).split(",")]
    return tuple(dict.fromkeys(part for part in parts if part))


def name(text: str) -> str:
    """A reviewer's name without white space around it.

    Raises `InvalidAnswer` unless it has 1 to 200 visible characters on one line.
    """
    text = valid(text)
    try:
        return reviewer_name(text)
    except ValueError as error:
        raise InvalidAnswer(str(error)) from None


def valid(text: str) -> str:
    """The same text.

    Raises `InvalidAnswer` if it is not UTF-8: a terminal may send invalid bytes.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidAnswer("this is not UTF-8") from None
    return text


def word(text: str, words: tuple[W, ...]) -> W:
    """The one of `words` that `text` equals or begins, whatever its case.

    Raises `InvalidAnswer` if none or several fit.
    """
    answer = " ".join(text.split()).lower()
    fitting = [candidate for candidate in words if answer and candidate.lower().startswith(answer)]
    exact = [candidate for candidate in fitting if candidate.lower() == answer]
    if len(matches := exact or fitting) != 1:
        raise InvalidAnswer(f"write one of: {', '.join(words)}")
    return matches[0]
