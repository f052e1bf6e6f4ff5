"""Checks of a reply: whether it equals, contains, begins with, ends with or matches a value, or is
JSON. Pure.

A check is met by any one of its `values`; `json`, which the whole reply has to be, takes none.
`ignore_case` case-folds both sides first, `trim` removes white space around both,
`ignore_punctuation` removes ASCII punctuation and white space around both. `negate` inverts the
check: no value may match. Regular expressions are untrusted:
`support/bounded/untrusted_patterns.py` checks and matches them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

from failproof_es.dialects.kit.constant_patterns import is_found_in_any_text
from failproof_es.support.bounded import untrusted_patterns
from failproof_es.support.plurals import plural
from failproof_es.support.untrusted_text import shortened

_PUNCTUATION = " \t\n\r\v\f!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

Kind = Literal["equals", "contains", "starts_with", "ends_with", "regex", "json"]

_VERBS: dict[Kind, tuple[str, str, str]] = {
    "equals": ("equals", "does not equal", "must not equal"),
    "contains": ("contains", "does not contain", "must not contain"),
    "starts_with": ("begins with", "does not begin with", "must not begin with"),
    "ends_with": ("ends with", "does not end with", "must not end with"),
    "regex": ("matches", "does not match", "must not match"),
    "json": ("is", "is not", "must not be"),
}
"""The verbs of a reply for which a check's values hold, do not hold, and must not hold."""
_LITERAL_TESTS: Mapping[str, Callable[[str, str], bool]] = {
    "equals": str.__eq__,
    "contains": str.__contains__,
    "starts_with": str.startswith,
    "ends_with": str.endswith,
}
"""Whether a text, and a value behind it, meet the checks without regular expressions."""
_SHOWN_CHARACTERS = 200
_SHOWN_VALUES = 5


class ReplyCheck(BaseModel):
    """One check of a reply, which the reply meets or not.

    A check is met by any one of its `values`. The module's docstring explains the other fields.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    kind: Kind
    values: list[str] = []
    ignore_case: bool = False
    trim: bool = False
    ignore_punctuation: bool = False
    negate: bool = False

    @model_validator(mode="after")
    def _usable(self) -> ReplyCheck:
        if self.kind == "json" and self.values:
            raise PydanticCustomError("no-effect", "`json` takes no `values`")
        if self.kind != "json" and not self.values:
            raise PydanticCustomError("empty-value", "`values` needs at least one text")
        if self.kind == "regex":
            for value in self.values:
                if problem := pattern_problem(value, ignore_case=self.ignore_case):
                    raise PydanticCustomError("invalid-pattern", "{problem}", {"problem": problem})
        return self


def met(check: ReplyCheck, text: str) -> bool:
    """Whether the reply's text meets the check.

    Raises `untrusted_patterns.PatternStopped` if a pattern takes too long. Not in a grading
    process, which is stopped itself.
    """
    return _any_value_matches(check, text) is not check.negate


def is_always_met(check: ReplyCheck) -> bool | None:
    """`True` if every text meets the check, `False` if none does; `None` if the text decides."""
    if check.kind == "equals":
        return None
    is_in_every_text = any(
        is_found_in_any_text(value) if check.kind == "regex" else not _normalise(check, value)
        for value in check.values
    )
    return not check.negate if is_in_every_text else None


def is_bounded(check: ReplyCheck, text: str) -> bool:
    """Whether matching the check against `text` is certain to take little time.

    True without regular expressions; otherwise if RE2 can match all of them in bounded work.
    """
    text = text.strip() if check.trim else text
    return check.kind != "regex" or all(
        untrusted_patterns.is_bounded(value, text, ignore_case=check.ignore_case)
        for value in check.values
    )


def pattern_problem(pattern: str, *, ignore_case: bool = False) -> str | None:
    """The reason why the pattern is no usable regular expression; `None` if it is one.

    A pattern that costs too much is not usable either.
    """
    fault = untrusted_patterns.fault_of(pattern, ignore_case=ignore_case)
    return None if fault is None else fault.message


def verb_of(check: ReplyCheck, *, is_met: bool) -> str:
    """The verb of a reply that meets the check, or that does not: `does not contain`."""
    does, does_not, _ = _VERBS[check.kind]
    return does if is_met is not check.negate else does_not


def describe_check(check: ReplyCheck, *, is_met: bool) -> str:
    """A reply that meets the check, or that does not, as a predicate: `does not contain "Paris"`.

    At most five values are listed, each shortened to 200 characters.
    """
    return f"{verb_of(check, is_met=is_met)} {_describe_values(check)}"


def describe_expectation(check: ReplyCheck) -> str:
    """The check as a demand: `contains "Paris"`, or `must not contain "Paris"` if negated."""
    does, _, must_not = _VERBS[check.kind]
    return f"{must_not if check.negate else does} {_describe_values(check)}"


def _describe_values(check: ReplyCheck) -> str:
    mark = "/" if check.kind == "regex" else '"'
    values = " or ".join(
        f"{mark}{shortened(value, _SHOWN_CHARACTERS)}{mark}"
        for value in check.values[:_SHOWN_VALUES]
    )
    more = len(check.values) - _SHOWN_VALUES
    if more > 0:
        values += f" or {plural(more, 'other value')}"
    return values or "JSON"


def described(check: ReplyCheck) -> dict[str, Any]:
    """The check as stored in a case, without fields that have their default."""
    return check.model_dump(mode="json", exclude_defaults=True)


def _any_value_matches(check: ReplyCheck, text: str) -> bool:
    if check.kind == "json":
        return _is_json(text)
    if check.kind == "regex":
        return any(_matches(check, value, text) for value in check.values)
    holds, prepared_text = _LITERAL_TESTS[check.kind], _normalise(check, text)
    return any(holds(prepared_text, _normalise(check, value)) for value in check.values)


def _is_json(text: str) -> bool:
    """Whether the whole text is JSON (RFC 8259). JSON that is nested too deeply for the parser is
    not."""
    try:
        json.loads(text, parse_int=str, parse_float=str, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _normalise(check: ReplyCheck, text: str) -> str:
    text = text.strip() if check.trim else text
    text = text.casefold() if check.ignore_case else text
    return text.strip(_PUNCTUATION) if check.ignore_punctuation else text


def _matches(check: ReplyCheck, pattern: str, text: str) -> bool:
    text = text.strip() if check.trim else text
    return untrusted_patterns.is_found(pattern, text, ignore_case=check.ignore_case)
