"""Looks up a judge's quotation in the texts that can prove its verdict. Pure.

A verdict in the model's favour needs words of its evidence (`evidence.evidence`). A verdict against
it needs any of its words, as written or as read: characters that a judge does not copy, such as
invisible ones and look-alikes, hide no bad answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from failproof_es.dialects.kit.decoded_forms import folded
from failproof_es.dialects.kit.judging.quotation import (
    Comparable,
    Unproved,
    comparable,
    locate_quotation,
)

_KEYBOARD = str.maketrans("\u2018\u2019\u201c\u201d\u2010\u2011\u2012\u2013\u2014", "''\"\"-----")


class JudgeDirected(Unproved):
    """The error that quoted words are in the model's text only where it addresses judges."""


@dataclass(frozen=True, slots=True)
class Quotable:
    """The texts of a model in the three forms in which quotations are looked up.

    `evidence` has only words that can prove a verdict for the model, `verbatim` all words, `plain`
    all words as a judge may copy them. The forms of one text have the same index.
    """

    evidence: Sequence[Comparable]
    verbatim: Sequence[Comparable]
    plain: Sequence[Comparable]

    def locate(self, quote: str, *, in_favour: bool, is_proof: bool) -> int:
        """The index of the text that holds the words quoted for a verdict.

        `in_favour` says that the verdict is for the model, `is_proof` that the quotation must be
        long enough to prove something. Raises `JudgeDirected` if the words stand only where the
        model addresses judges, else `Unproved` if no text holds them or they are too few.
        """
        if not in_favour:
            return self._locate_anywhere(quote, is_proof=is_proof)
        try:
            return locate_quotation(quote, self.evidence, is_proof=is_proof)
        except Unproved:
            self._locate_anywhere(quote, is_proof=is_proof)
            raise JudgeDirected("the quotation stands only in words that speak to judges") from None

    def _locate_anywhere(self, quote: str, *, is_proof: bool) -> int:
        try:
            return locate_quotation(quote, self.verbatim, is_proof=is_proof)
        except Unproved:
            return locate_quotation(_copyable_text(quote), self.plain, is_proof=is_proof)


def quotable(texts: Sequence[str], evidence: Sequence[str]) -> Quotable:
    """The forms of these texts in which quotations are looked up.

    `evidence` are the same texts without the words that address judges (`evidence.evidence`).
    """
    return Quotable(
        [comparable(text) for text in evidence],
        [comparable(text) for text in texts],
        [comparable(_copyable_text(text)) for text in texts],
    )


def _copyable_text(text: str) -> str:
    """The text as a judge may copy it: no hidden characters, keyboard punctuation, case-folded."""
    return folded(text).text.translate(_KEYBOARD).casefold()
