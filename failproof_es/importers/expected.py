"""Turns checks of an answer into one `expected_response` of the dialect `failproof`. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

import regex

from failproof_es.dialects.reply_checks import pattern_problem
from failproof_es.dialects.shipped.failproof.expectation import (
    MAX_PATTERN_CHARACTERS,
    defect,
    syntax_error,
)
from failproof_es.importers.protocol import Check

_LONGEST_SAID = 120
_ANYWHERE = "(?s:.*?)"
_WHOLE = r"\A"
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
    _require_texts(checks)
    pattern = _pattern(checks)
    as_it_stands = _is_plain_text(checks) and pattern == checks[0].texts[0]
    if len(pattern) > MAX_PATTERN_CHARACTERS and not as_it_stands:
        raise NotExpressible(f"its pattern is longer than {MAX_PATTERN_CHARACTERS:,} characters")
    if not as_it_stands and (fault := syntax_error(pattern)) is not None:
        raise NotExpressible(f"its pattern {fault.message[:_LONGEST_SAID]}")
    if (problem := defect(pattern)) is not None:
        raise NotExpressible(f"its pattern {problem.message[:_LONGEST_SAID]}")
    return pattern


def require_valid_checks(checks: Sequence[Check]) -> None:
    """Raises `NotExpressible` unless the dialect `checks` can read the checks."""
    _require_texts([check for check in checks if check.kind != "json"])
    if (problem := first_pattern_problem(checks)) is not None:
        raise NotExpressible(f"its pattern cannot be used: {problem[:_LONGEST_SAID]}")


def first_pattern_problem(checks: Sequence[Check]) -> str | None:
    """Why one of the regular expressions cannot be used; `None` if all can."""
    for check in checks:
        for text in check.texts if check.kind == "regex" else ():
            if (problem := pattern_problem(text, ignore_case=check.ignore_case)) is not None:
                return problem
    return None


def _require_texts(checks: Sequence[Check]) -> None:
    for check in checks:
        if not check.texts or not all(check.texts):
            raise NotExpressible("a check has no text to look for, or an empty one")


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
    expressions = [text for check in checks if check.kind == "regex" for text in check.texts]
    if len(expressions) > 1 and any(map(_REFERENCE.search, expressions)):
        raise NotExpressible("one of several expressions refers to its groups by number")
    if len(checks) == 1 and not checks[0].negated:
        return _at_its_place(checks[0])
    return rf"{_WHOLE}{''.join(map(_lookahead, checks))}(?s:.+)"


def escaped(text: str) -> str:
    """The text as a pattern; unchanged if it has no special characters."""
    return str(regex.escape(text, special_only=True))


def _at_its_place(check: Check) -> str:
    """A pattern that matches a text of the check where it stands in the answer."""
    if check.kind == "regex" and len(check.texts) == 1 and not check.ignore_case:
        return check.texts[0]
    begin = _WHOLE if check.kind in ("equals", "begins") else ""
    end = r"\Z" if check.kind in ("equals", "ends") else ""
    return f"{begin}{_one_of(check)}{end}"


def _one_of(check: Check) -> str:
    """A group that matches one of the check's texts."""
    texts = check.texts if check.kind == "regex" else [escaped(text) for text in check.texts]
    one_of = texts[0] if len(texts) == 1 else "|".join(f"(?:{text})" for text in texts)
    return f"(?i:{one_of})" if check.ignore_case else f"(?:{one_of})"


def _lookahead(check: Check) -> str:
    group = _one_of(check)
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
