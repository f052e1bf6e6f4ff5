"""The language that a reply is written in, found offline by `py3langid`.

Short texts say too little: the check says then that it was not evaluated, and never that
the language is right.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

_NOT_PROSE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+|\[[\w, ;-]*-\d+\]", re.DOTALL)
_FEWEST_LETTERS = 40
_FEWEST_WORDS = 6
"""Different ones: a reply that goes round in circles says as little as a short one."""
_FEWEST_UNSPACED = 10
_UNSPACED_FROM = "\u0e00"
_READ_CHARACTERS = 4_000
_ALIKE = ({"no", "nb", "nn"}, {"bs", "hr", "sr"}, {"id", "ms"}, {"fa", "prs"})
"""Languages that no detector tells apart by a few sentences."""


def check(texts: Sequence[str], expected: str) -> dict[str, Any]:
    """Whether the replies, taken together, are in the language of the case.

    `agrees` is `None`, and `why_not` says why, where that can't be told.
    """
    found: dict[str, Any] = {"expected": expected, "detected": None, "agrees": None}
    prose = " ".join(_NOT_PROSE.sub(" ", text) for text in texts)[:_READ_CHARACTERS]
    letters = [character for character in prose if character.isalpha()]
    unspaced = sum(letter >= _UNSPACED_FROM for letter in letters)
    words = {word.lower() for word in prose.split()}
    enough = len(letters) >= _FEWEST_LETTERS and len(words) >= _FEWEST_WORDS
    if not enough and unspaced < _FEWEST_UNSPACED:
        return {**found, "why_not": "too few words"}
    base = expected.split("-")[0].lower()
    if base not in _known():
        return {**found, "why_not": f"the detector does not know {base}"}
    detected = _detected(prose)
    alike = any({base, detected} <= each for each in _ALIKE)
    return {**found, "detected": detected, "agrees": detected == base or alike}


def _detected(prose: str) -> str:
    from py3langid import classify  # half a second, and only this check needs it

    return str(classify(prose)[0])


@cache
def _known() -> frozenset[str]:
    from py3langid import rank

    return frozenset(str(language) for language, _ in rank("any text"))
