"""Regular expressions from untrusted sources: the one way to check and to match them.

Their syntax is that of the `regex` package. An expression that RE2 can express with the same
meaning is matched by RE2, in time linear in the text. Any other is compiled and matched by `regex`
in a child process that can be killed: `regex` compiles nested repeats in exponential time, and its
own time-out holds in some of its loops only. `linear_expressions.translate` chooses the engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any, Literal

import regex

from failproof_es.support.bounded.linear_expressions import Translation, translate
from failproof_es.support.bounded.messages import LimitExceeded, in_bounded_process
from failproof_es.support.bounded.process import BoundedPool
from failproof_es.support.bounded.running_child import Limits

re2: Any
try:
    re2 = import_module("re2")
except ImportError:  # no wheel for this platform
    re2 = None

MOST_CHARACTERS = 10_000
"""Maximum length of an expression."""
LIMITS = Limits(cpu_s=1.0, wait_s=60.0, memory_bytes=2**31)
"""Limits of one expression that is matched outside a bounded process."""
_MOST_WORK = 2_000_000
"""Instructions times bytes that RE2 may do in this process: about 10 ms."""
_MOST_BYTES = 4
"""Maximum bytes of a character in UTF-8."""

Span = tuple[int, int]
NO_EXPRESSION = (regex.error, RecursionError, OverflowError, MemoryError, ValueError)
"""Exceptions of compiling a text that is no expression."""
_OTHER_CHARACTERS = regex.compile(r"[[^\x00-\x7f]&&[\w\s\p{CWCM}]]", regex.VERSION1)


class PatternStopped(LimitExceeded):
    """Compiling or matching an expression exceeded `LIMITS` and was stopped."""


@dataclass(frozen=True, slots=True)
class PatternFault:
    """Why a text is no usable regular expression: it is invalid, or exceeds the limits."""

    message: str
    is_costly: bool = False
    """Whether the text is a valid expression that exceeds the limits."""


@dataclass(frozen=True, slots=True)
class PatternRequest:
    """A request to a child: compile an expression, or search a text for its matches."""

    task: Literal["compile", "search", "find all"]
    pattern: str
    ignore_case: bool
    text: str = ""


def fault_of(pattern: str, *, ignore_case: bool = False) -> PatternFault | None:
    """Why a text is no usable regular expression; `None` if it is one.

    A usable expression is valid, is no longer than `MOST_CHARACTERS`, and compiles within `LIMITS`.
    """
    if len(pattern) > MOST_CHARACTERS:
        return PatternFault(f"the expression is longer than {MOST_CHARACTERS:,} characters", True)
    return _fault_of(pattern, ignore_case)


def spans(pattern: str, text: str, *, ignore_case: bool = False) -> Iterator[Span]:
    """The start and end of each match that is not empty, from left to right.

    Raises `PatternStopped` if matching exceeds `LIMITS`, and one of `NO_EXPRESSION` if `pattern` is
    invalid, which `fault_of` shows before.
    """
    question = PatternRequest("find all", pattern, ignore_case, text)
    return (span for span in _matches(question) if span[1] > span[0])


def is_found(pattern: str, text: str, *, ignore_case: bool = False) -> bool:
    """Whether the expression matches anywhere, also an empty match.

    Raises like `spans`.
    """
    question = PatternRequest("search", pattern, ignore_case, text)
    return next(iter(_matches(question)), None) is not None


def _matches(question: PatternRequest) -> Iterable[Span]:
    linear = _linear(question.pattern, question.ignore_case)
    text = question.text
    limited = in_bounded_process()
    if linear is not None and linear.can_read(text) and (limited or linear.is_bounded(text)):
        return linear.spans(text)
    return _spans(question) if limited else _ask(question)


def is_bounded(pattern: str, text: str, *, ignore_case: bool = False) -> bool:
    """Whether RE2 can match the expression in this text within `_MOST_WORK`, so without a child."""
    linear = _linear(pattern, ignore_case)
    return linear is not None and linear.can_read(text) and linear.is_bounded(text)


@dataclass(frozen=True, slots=True)
class _Linear:
    """A compiled expression that RE2 matches, in time linear in the text."""

    compiled: Any
    translation: Translation

    def can_read(self, text: str) -> bool:
        """Whether RE2 and `regex` find the same matches in this text."""
        if self.translation.needs_last_line and text.endswith("\n"):
            return False
        return (
            not self.translation.needs_ordinary_text
            or text.isascii()
            or _OTHER_CHARACTERS.search(text) is None
        )

    def is_bounded(self, text: str) -> bool:
        size = len(text) if text.isascii() else _MOST_BYTES * len(text)
        return int(self.compiled.programsize) * size <= _MOST_WORK

    def spans(self, text: str) -> Iterator[Span]:
        for match in self.compiled.finditer(text):
            yield match.span()


@lru_cache(maxsize=512)
def _linear(pattern: str, ignore_case: bool) -> _Linear | None:
    """The expression compiled for RE2; `None` if RE2 has no equivalent one, or is not installed."""
    translation = None if re2 is None else translate(pattern, ignore_case=ignore_case)
    if translation is None:
        return None
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    try:
        return _Linear(re2.compile(translation.expression, options), translation)
    except re2.error:  # too large
        return None


@lru_cache(maxsize=512)
def _fault_of(pattern: str, ignore_case: bool) -> PatternFault | None:
    if _linear(pattern, ignore_case) is not None:
        return None
    try:
        if in_bounded_process():
            _compiled(pattern, ignore_case)
        else:
            _ask(PatternRequest("compile", pattern, ignore_case))
    except PatternStopped as stopped:
        return PatternFault(str(stopped), True)
    except NO_EXPRESSION as error:
        return PatternFault(f"not a valid regular expression: {error}")
    return None


@lru_cache(maxsize=512)
def _compiled(pattern: str, ignore_case: bool) -> regex.Pattern[str]:
    return regex.compile(pattern, regex.IGNORECASE if ignore_case else 0)


# -- the child -----------------------------------------------------------------------------------


def _spans(question: PatternRequest) -> Iterator[Span]:
    """The start and end of each match that `regex` finds, computed in this process.

    For the task `search` at most one match; for `compile` none.
    """
    compiled = _compiled(question.pattern, question.ignore_case)
    if question.task == "search":
        match = compiled.search(question.text)
        return iter(() if match is None else (match.span(),))
    if question.task == "find all":
        return (match.span() for match in compiled.finditer(question.text))
    return iter(())


def list_spans(question: PatternRequest) -> list[Span]:
    """The function that the child calls: the start and end of each match, as a list."""
    return list(_spans(question))


@lru_cache(maxsize=1)
def _pool() -> BoundedPool:
    return BoundedPool(list_spans, LIMITS)


def _ask(question: PatternRequest) -> list[Span]:
    work = "compiling" if question.task == "compile" else "matching"
    try:
        answer: list[Span] = _pool().call(question)
    except LimitExceeded as stopped:
        raise PatternStopped(f"{work} the expression was stopped: {stopped}") from None
    return answer
