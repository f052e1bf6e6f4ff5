"""Words for the class of an answer. `pass` beside a failed result would read as a verdict."""

from __future__ import annotations

from collections.abc import Mapping

_WORDS: Mapping[str, str] = {"pass": "match", "fail": "no match"}
_UNWANTED = "unwanted answer"
_CLASSES = {word: name for name, word in _WORDS.items()} | {_UNWANTED: "pass"}
TRANSLATED = frozenset(_WORDS) | frozenset(_CLASSES)
"""Names of classes, and words for them, that a class of another meaning must not have."""


def class_word(name: str, passed: bool | None = None) -> str:
    """A class for people: `match` and `no match` for `pass` and `fail`, any other as it is.

    A result can fail although its answer matches, and pass although it does not: a case expects
    a refusal or the class `fail`, or a scorer decides. `passed` is the result, if it is known: the
    class `pass` of a failed result is `unwanted answer`. Documents and events keep the recorded
    name.
    """
    return _UNWANTED if name == "pass" and passed is False else _WORDS.get(name, name)


def class_named(word: str) -> str:
    """The recorded name of a class that is written as its name or as its `class_word`."""
    return _CLASSES.get(word, word)
