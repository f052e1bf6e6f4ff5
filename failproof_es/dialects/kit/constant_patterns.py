"""Recognises regular expressions that any text matches: `.*`, `(?s)^.+$`, `[\\s\\S]`; or none."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

_parser: Any = import_module("re._parser")
"""The parser of `re`, the only module that knows the possible widths of an expression."""
_CONSTANTS: Any = import_module("re._constants")
_REPEATS = frozenset({_CONSTANTS.MAX_REPEAT, _CONSTANTS.MIN_REPEAT, _CONSTANTS.POSSESSIVE_REPEAT})
_WRAPPERS = frozenset({_CONSTANTS.SUBPATTERN, _CONSTANTS.ATOMIC_GROUP})
_BEGINNINGS = frozenset({_CONSTANTS.AT_BEGINNING, _CONSTANTS.AT_BEGINNING_STRING})
_OPPOSITES = (
    ({_CONSTANTS.CATEGORY_SPACE, _CONSTANTS.CATEGORY_NOT_SPACE}),
    ({_CONSTANTS.CATEGORY_WORD, _CONSTANTS.CATEGORY_NOT_WORD}),
    ({_CONSTANTS.CATEGORY_DIGIT, _CONSTANTS.CATEGORY_NOT_DIGIT}),
)
_NOT_PARSED = (re.error, RecursionError, OverflowError, MemoryError, ValueError)
Element = tuple[Any, Any]
_MOST_CHARACTERS = 200
"""A longer expression counts as one that expects something."""


@lru_cache(maxsize=512)
def is_found_in_any_text(pattern: str) -> bool:
    """Whether the expression plainly matches in every text that is not blank.

    False in doubt: the author of `(?s)^(?!.*word).+` expects something.
    """
    if len(pattern) > _MOST_CHARACTERS or not ("." in pattern or "[" in pattern):
        return False
    try:
        parsed = _parse(pattern)
        elements = list(_flat(parsed))
    except _NOT_PARSED:
        return False
    anchors = [argument for operation, argument in elements if operation is _CONSTANTS.AT]
    non_anchors = [element for element in elements if element[0] is not _CONSTANTS.AT]
    whole = bool(_BEGINNINGS.intersection(anchors)) and bool(set(anchors) - _BEGINNINGS)
    everything = bool(parsed.state.flags & re.DOTALL)
    return (
        bool(non_anchors)
        and all(_is_any(element) for element in non_anchors)
        and sum(_least(element) for element in non_anchors) <= 1
        and (not whole or any(_spans_lines(element, everything) for element in non_anchors))
    )


def matches_only_nothing(pattern: str) -> bool:
    """Whether the expression can only match the empty text: `^$`, `x{0}`, `(?!a)`.

    False for syntax that `re` does not know (`\\p{L}`): the `regex` package accepts more.
    """
    try:
        _, most = _parse(pattern).getwidth()
    except _NOT_PARSED:
        return False
    return int(most) == 0


def _parse(pattern: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _parser.parse(pattern)


def _flat(elements: Sequence[Element]) -> Iterator[Element]:
    """The parsed elements of an expression, with each group replaced by its content."""
    for operation, argument in elements:
        if operation in _WRAPPERS:
            inner = argument[-1] if isinstance(argument, tuple) else argument
            yield from _flat(inner)
        else:
            yield operation, argument


def _inner(element: Element) -> Element | None:
    """The one element that a repeat repeats, or the element itself; `None` if there are several."""
    operation, argument = element
    if operation not in _REPEATS:
        return element
    repeated = list(_flat(argument[2]))
    return repeated[0] if len(repeated) == 1 and repeated[0][0] not in _REPEATS else None


def _is_any(element: Element) -> bool:
    """Whether the element, or the one that it repeats, matches any character."""
    inner = _inner(element)
    return inner is not None and (inner[0] is _CONSTANTS.ANY or _is_every_character(inner))


def _is_every_character(element: Element) -> bool:
    operation, argument = element
    if operation is not _CONSTANTS.IN:
        return False
    categories = {value for kind, value in argument if kind is _CONSTANTS.CATEGORY}
    return any(pair <= categories for pair in _OPPOSITES)


def _least(element: Element) -> int:
    operation, argument = element
    return int(argument[0]) if operation in _REPEATS else 1


def _spans_lines(element: Element, everything: bool) -> bool:
    """Whether the element matches a text of any length and any number of lines.

    `everything` says that a dot matches line breaks, too.
    """
    operation, argument = element
    inner = _inner(element)
    endless = operation in _REPEATS and argument[1] is _CONSTANTS.MAXREPEAT
    return endless and inner is not None and (everything or _is_every_character(inner))
