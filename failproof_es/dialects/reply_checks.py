"""The checks of a reply: whether a text is, holds, begins or ends with one of some values. Pure.

A check is met by any one of its `values`. With `ignore_case` both sides are case-folded first,
with `trim` white space around both is left out, with `ignore_punctuation` ASCII punctuation marks
and white space around both. `negate` turns the check round: none of the values may do.
Finding a regular expression is bounded in time.
"""

from __future__ import annotations

from typing import Any, Literal

import regex
from pydantic import BaseModel, ConfigDict, Field, model_validator

TIMEOUT_S = 1.0
MAX_PATTERN_CHARACTERS = 10_000
_PUNCTUATION = " \t\n\r\v\f!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
_REPEAT = regex.compile(r"\{(\d+)")
_MAX_REPEATS = 1_000_000

Kind = Literal["equals", "contains", "starts_with", "ends_with", "regex"]


class Check(BaseModel):
    """One check of a reply. See the module for what its fields mean."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    kind: Kind
    values: list[str] = Field(min_length=1)
    ignore_case: bool = False
    trim: bool = False
    ignore_punctuation: bool = False
    negate: bool = False

    @model_validator(mode="after")
    def _usable(self) -> Check:
        if self.kind == "regex":
            for value in self.values:
                if problem := pattern_problem(value):
                    raise ValueError(problem)
        return self


class PatternTimeout(Exception):
    """A regular expression did not finish within `TIMEOUT_S`."""


def met(check: Check, text: str) -> bool:
    """Whether the reply's text meets the check. Raises `PatternTimeout`."""
    return _found(check, text) is not check.negate


def pattern_problem(pattern: str) -> str | None:
    """Why a text is no usable regular expression; `None` where it is one."""
    if len(pattern) > MAX_PATTERN_CHARACTERS:
        return f"the expression is longer than {MAX_PATTERN_CHARACTERS:,} characters"
    repeats = 1
    for count in _REPEAT.findall(pattern):
        repeats *= max(1, int(count[:10]))
    if repeats > _MAX_REPEATS:
        return f"the expression repeats more than {_MAX_REPEATS:,} times"
    try:
        regex.compile(pattern)
    except (regex.error, RecursionError, OverflowError, MemoryError, ValueError) as error:
        return f"not a valid regular expression: {error}"
    return None


def described(check: Check) -> dict[str, Any]:
    """The check as it stands in a case: only what is not as by default."""
    return check.model_dump(mode="json", exclude_defaults=True)


def _found(check: Check, text: str) -> bool:
    if check.kind == "regex":
        return any(_matches(check, value, text) for value in check.values)
    said = _prepared(check, text)
    for value in check.values:
        wanted = _prepared(check, value)
        match check.kind:
            case "equals":
                found = said == wanted
            case "contains":
                found = wanted in said
            case "starts_with":
                found = said.startswith(wanted)
            case "ends_with":
                found = said.endswith(wanted)
        if found:
            return True
    return False


def _prepared(check: Check, text: str) -> str:
    text = text.strip() if check.trim else text
    text = text.casefold() if check.ignore_case else text
    return text.strip(_PUNCTUATION) if check.ignore_punctuation else text


def _matches(check: Check, pattern: str, text: str) -> bool:
    flags = regex.IGNORECASE if check.ignore_case else 0
    text = text.strip() if check.trim else text
    try:
        return regex.search(pattern, text, flags, timeout=TIMEOUT_S) is not None
    except TimeoutError:
        said = f"a regular expression did not finish within {TIMEOUT_S:g} s"
        raise PatternTimeout(said) from None
