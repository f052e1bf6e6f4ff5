"""Turns checks of an answer into one `expected_response` of the dialect `failproof`. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

import regex

from failproof_es.dialects.shipped.failproof.expectation import (
    MAX_PATTERN_CHARACTERS,
    defect,
    syntax_error,
)
from failproof_es.importers.protocol import Check

_LONGEST_SAID = 120
_ANYWHERE = "(?s:.*?)"
_REFERENCE = re.compile(r"\\(?:[1-9]|k<|g<)|\(\?P[=>]")


class NotExpressible(Exception):
    """The checks cannot be expressed as one pattern. `str` is the reason."""


def expected_response(checks: Sequence[Check]) -> str | None:
    """The `expected_response` that matches exactly the answers that meet all checks.

    It is a pattern; `None` without checks. A single `contains` check becomes its text. Raises
    `NotExpressible` if no single pattern expresses the checks.
    """
    if not checks:
        return None
    for check in checks:
        if not check.texts or not all(check.texts):
            raise NotExpressible("a check has no text to look for, or an empty one")
    pattern = _pattern(checks)
    as_it_stands = _is_plain_text(checks) and pattern == checks[0].texts[0]
    if len(pattern) > MAX_PATTERN_CHARACTERS and not as_it_stands:
        raise NotExpressible(f"its pattern is longer than {MAX_PATTERN_CHARACTERS:,} characters")
    if not as_it_stands and (fault := syntax_error(pattern)) is not None:
        raise NotExpressible(f"its pattern {fault.message[:_LONGEST_SAID]}")
    if (problem := defect(pattern)) is not None:
        raise NotExpressible(f"its pattern {problem.message[:_LONGEST_SAID]}")
    return pattern


def _is_plain_text(checks: Sequence[Check]) -> bool:
    """Whether the only check is that the answer contains one text, case included."""
    [check, *rest] = checks
    plain = check.kind == "contains" and not check.negated and not check.ignore_case
    return not rest and plain and len(check.texts) == 1


def _pattern(checks: Sequence[Check]) -> str:
    """One pattern for all checks.

    Raises `NotExpressible` if one of several expressions refers to its groups by number.
    """
    if _is_plain_text(checks):
        [text] = checks[0].texts
        return text if len(text) > MAX_PATTERN_CHARACTERS else escaped(text)
    if len(checks) == 1 and not checks[0].negated and len(checks[0].texts) == 1:
        [text] = checks[0].texts
        if checks[0].kind == "regex" and not checks[0].ignore_case:
            return text
    expressions = [text for check in checks if check.kind == "regex" for text in check.texts]
    if len(expressions) > 1 and any(map(_REFERENCE.search, expressions)):
        raise NotExpressible("one of several expressions refers to its groups by number")
    return rf"\A{''.join(map(_lookahead, checks))}(?s:.+)"


def escaped(text: str) -> str:
    """The text as a pattern; unchanged if it has no special characters."""
    return str(regex.escape(text, special_only=True))


def _lookahead(check: Check) -> str:
    texts = check.texts if check.kind == "regex" else [escaped(text) for text in check.texts]
    one_of = "|".join(f"(?:{text})" for text in texts)
    group = f"(?i:{one_of})" if check.ignore_case else f"(?:{one_of})"
    match check.kind:
        case "equals":
            pattern = rf"{group}\Z"
        case "begins":
            pattern = group
        case "ends":
            pattern = rf"{_ANYWHERE}{group}\Z"
        case _:
            pattern = f"{_ANYWHERE}{group}"
    return f"(?!{pattern})" if check.negated else f"(?={pattern})"
