"""Patterns of the `regex` module that are compiled when they are first used.

Compiling those that tell refusals takes half a second; most runs need few of them. The names are
those of `regex`, so that a module uses this one in its place:

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
"""Characters. Some patterns take a millisecond for so many."""


class LazyPattern:
    """A pattern, and as much of `regex.LazyPattern[str]` as is used here.

    A mistake in the pattern shows when it is first used. Matching does not let other threads run
    meanwhile, unless the text is long: taking the interpreter back from them costs far more than
    matching a short text does.
    """

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.pattern = pattern
        self._flags = flags

    @cached_property
    def compiled(self) -> Compiled[str]:
        """The pattern as the module compiles it, once."""
        return compile_now(self.pattern, self._flags)

    def search(self, text: str, start: int = 0, end: int | None = None) -> Match[str] | None:
        """The first place in `text` between `start` and `end` that the pattern fits."""
        return self.compiled.search(text, start, end, concurrent=len(text) > _LONG)

    def match(self, text: str) -> Match[str] | None:
        """What the pattern fits at the beginning of `text`."""
        return self.compiled.match(text, concurrent=len(text) > _LONG)

    def finditer(self, text: str) -> Iterator[Match[str]]:
        """Every place that the pattern fits, from left to right."""
        return self.compiled.finditer(text, concurrent=len(text) > _LONG)

    def findall(self, text: str) -> list[str]:
        """The text of every place that the pattern fits, or that of its one group."""
        return self.compiled.findall(text, concurrent=len(text) > _LONG)


def compile(pattern: str, flags: int = 0) -> LazyPattern:
    """The pattern, to be compiled when it is first used."""
    return LazyPattern(pattern, flags)
