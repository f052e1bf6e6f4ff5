"""Decides which of a model's words count as evidence: none that are addressed to judges.

A model under test may write verdicts itself, or speak to whoever grades it. A judge that
follows such words would quote them. So these are evidence of nothing: objects that pose as
verdicts, lines that name the checklist's lists or address an evaluator, and all that comes
after a line that poses as a heading of the transcript. Whoever grades in earnest quotes the
rest; if nothing is left, the item stays undecided.
"""

from __future__ import annotations

import re
from itertools import takewhile

from failproof_es.dialects.kit.judging.posing import posing_spans

_JUDGES = r"(?:evaluat|grad|assess|review)(?:or|er)s?|judges?"
_TO_JUDGES = re.compile(
    rf"""
      must_(?:not_)?do\b | pass_criteria\b
    | ^\W* (?: dear|attention|hey|hello
            | (?:note|message|notice)\ (?:to|for)
            | to\ (?:the|all|any|my) )
      \W+ (?:(?:the|all|any|my)\W+)? (?:{_JUDGES}) \b
    | ^\W* (?:to\W+)? (?:the\W+)? (?:{_JUDGES}) \b \W* [:\]]
    """,
    re.IGNORECASE | re.VERBOSE,
)
_HEADING = re.compile(r"^\s*-{3,}+.*\b(?:turn \d|conversation)\b", re.IGNORECASE)
"""No dash is given back (`+`): a line of nothing but dashes would take the square of its length."""
_GAP = "\n\udfff\n"
"""Stands where something was taken out, so that nothing is quoted across it: half a surrogate
pair is no text, so no quotation holds it (`reply.read_verdicts`)."""


def evidence(text: str) -> str:
    """The text without what is addressed to judges."""
    pieces, end = [], 0
    for start, after in posing_spans(text):
        pieces += (text[end:start], _GAP)
        end = after
    own = takewhile(
        lambda line: not _HEADING.match(line), "".join([*pieces, text[end:]]).splitlines()
    )
    return "\n".join(_GAP if _TO_JUDGES.search(line) else line for line in own)
