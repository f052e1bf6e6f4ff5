"""Reads the options of a multiple choice, and which of them is the expected answer. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from failproof_es.importers.protocol import Check
from failproof_es.importers.record_values import (
    UnusableRecord,
    parts_of,
    plain_text_of,
    text_of,
    without_point,
)

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_CHOOSE = "Choose one option. End with a line that says `ANSWER:` and the option's letter alone."
_CHOSEN_LETTER = r"(?is)\bANSWER\W{{0,10}}{letter}\b(?!.*\bANSWER\W{{0,10}}\w)"


def options_of(value: Any) -> list[str]:
    """The texts of the options, in their order.

    Raises `UnusableRecord` if one is empty, which a number or a letter would count or not, if one
    is neither a text nor a finite number, or if there are more than letters.
    """
    options = [text_of(part, "choices") for part in parts_of(value)]
    if not all(option.strip() for option in options):
        raise UnusableRecord("one of the choices is empty", role="choices")
    if len(options) > len(_LETTERS):
        raise UnusableRecord("there are more choices than letters", role="choices")
    return options


def with_options(question: str, options: Sequence[str]) -> str:
    """The question with its options below, each with a letter, and the way to answer."""
    option_list = "\n".join(f"{_LETTERS[n]}) {text}" for n, text in enumerate(options))
    return f"{question}\n\n{option_list}\n\n{_CHOOSE}"


def check_of_choice(answer: Any, choices: Any) -> Check:
    """The check that an answer chooses the expected option of `choices`.

    The expected `answer` is its letter, its number from 0 or its text; a number beside options that
    are texts is no text. Raises `UnusableRecord` if it is none of these for any option, or names
    several.
    """
    options = options_of(choices)
    if isinstance(answer, list | tuple) and len(answer) == 1:
        [answer] = answer
    text = without_point((plain_text_of(answer) or "").strip())
    letters = _LETTERS[: len(options)]
    numbers = [str(number) for number in range(len(options))]
    names = [numbers]
    if text not in numbers or not _is_number_beside_texts(answer, choices):
        names += [list(letters), [without_point(option.strip()) for option in options]]
    matches = {
        letter for ways in names for letter, way in zip(letters, ways, strict=True) if way == text
    }
    if not matches:
        message = (
            "the expected answer is not the letter, the number from 0 or the text of one choice"
        )
        raise UnusableRecord(message, role="expected")
    if len(matches) > 1:
        message = (
            "the expected answer names several choices, by letter, by number from 0 or by text: "
            "name one by its letter"
        )
        raise UnusableRecord(message, role="expected")
    [letter] = matches
    return Check("regex", (_CHOSEN_LETTER.format(letter=letter),))


def _is_number_beside_texts(answer: Any, choices: Any) -> bool:
    is_number = isinstance(answer, int | float | Decimal) and not isinstance(answer, bool)
    return is_number and all(isinstance(part, str) for part in parts_of(choices))
