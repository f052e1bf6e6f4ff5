"""Patterns of the `regex` module that are compiled when they are first used.

Compiling the refusal patterns takes half a second, and most runs need few of them. The names are
those of `regex`, so that a module can import this one in its place:

    from failproof_es.dialects.kit import patterns_when_used as regex
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from regex import IGNORECASE, MULTILINE, VERBOSE, VERSION1, Match
from regex import Pattern as Compiled
from regex import compile as compile_now

__all__ = ["IGNORECASE", "MULTILINE", "VERBOSE", "VERSION1", "LazyPattern", "Match", "compile"]


_LONG = 10_000
"""Characters. Some patterns need a millisecond for a text of this length."""


class LazyPattern:
    """A pattern with the methods of `regex.Pattern[str]` that are used here.

    A mistake in the pattern raises when it is first used. Only for a long text does matching
    release the interpreter lock: taking it back costs far more than matching a short text.
    """

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.pattern = pattern
        self._flags = flags

    @cached_property
    def compiled(self) -> Compiled[str]:
        """The compiled pattern, cached."""
        return compile_now(self.pattern, self._flags)

    def search(self, text: str, start: int = 0, end: int | None = None) -> Match[str] | None:
        """The first match in `text` between `start` and `end` (exclusive); `None` without one."""
        return self.compiled.search(text, start, end, concurrent=len(text) > _LONG)

    def match(self, text: str) -> Match[str] | None:
        """The match at the beginning of `text`; `None` without one."""
        return self.compiled.match(text, concurrent=len(text) > _LONG)

    def finditer(self, text: str) -> Iterator[Match[str]]:
        """Every match, from left to right."""
        return self.compiled.finditer(text, concurrent=len(text) > _LONG)

    def findall(self, text: str) -> list[str]:
        """The text of every match, or of its one group."""
        return self.compiled.findall(text, concurrent=len(text) > _LONG)


def compile(pattern: str, flags: int = 0) -> LazyPattern:
    """A pattern that is compiled when it is first used."""
    return LazyPattern(pattern, flags)
