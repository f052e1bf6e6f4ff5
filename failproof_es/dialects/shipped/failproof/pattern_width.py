"""Tells whether a regular expression can match one character or more."""

from __future__ import annotations

import re
import warnings
from importlib import import_module
from typing import Any

_parser: Any = import_module("re._parser")
"""The parser of `re`, the only module that knows the possible widths of an expression."""


def matches_only_nothing(pattern: str) -> bool:
    """Whether the expression can only match the empty text: `^$`, `x{0}`, `(?!a)`.

    False for syntax that `re` does not know (`\\p{L}`): the `regex` package accepts more.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _, most = _parser.parse(pattern).getwidth()
    except (re.error, RecursionError, OverflowError, MemoryError, ValueError):
        return False
    return int(most) == 0
