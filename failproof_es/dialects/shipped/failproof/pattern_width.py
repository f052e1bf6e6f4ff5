"""Whether a regular expression can match one character or more."""

from __future__ import annotations

import re
import warnings
from importlib import import_module
from typing import Any

_parser: Any = import_module("re._parser")
"""What `re` reads an expression with: the one place that knows how much each part can match."""


def matches_only_nothing(pattern: str) -> bool:
    """Whether all that the expression can ever match is the empty text: `^$`, `x{0}`, `(?!a)`.

    False for what `re` does not know (`\\p{L}`): the `regex` package reads more than it does.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _, most = _parser.parse(pattern).getwidth()
    except (re.error, RecursionError, OverflowError, MemoryError, ValueError):
        return False
    return int(most) == 0
