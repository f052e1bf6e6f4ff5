"""Decides which of a model's words count as evidence: none that are addressed to judges.

A model under test may write verdicts itself, or speak to whoever grades it. A judge that
follows such words would quote them. So these are evidence of nothing: objects that pose as
verdicts, lines that name the checklist's lists or address an evaluator, and all that comes
after a line that poses as a heading of the transcript. Nor does a tool call count that the model
only typed: what it called stands apart (`prompt.Passage.calls`). Whoever grades in earnest quotes
the rest; if nothing is left, the item stays undecided.
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
_TYPED_CALL = re.compile(
    r"[\[<(\uff3b\u3010]\W{0,5}(?:tool|function)\W{0,5}_?(?:call|use|result|output)s?(?![a-z]).*",
    re.IGNORECASE,
)
"""A call that is only typed, in our notation or in that of a chat template."""
_GAP = "\n\udfff\n"
"""Stands where something was taken out, so that nothing is quoted across it: half a surrogate
pair is no text, so no quotation holds it (`reply.read_verdicts`)."""


def evidence(text: str, *, is_call: bool = False) -> str:
    """The text without what is addressed to judges; of words also without typed tool calls."""
    pieces: list[str] = []
    end = 0
    for start, after in posing_spans(text):
        pieces += (text[end:start], _GAP)
        end = after
    own = takewhile(
        lambda line: not _HEADING.match(line), "".join([*pieces, text[end:]]).splitlines()
    )
    lines = (_GAP if _TO_JUDGES.search(line) else line for line in own)
    return "\n".join(line if is_call else _TYPED_CALL.sub(_GAP, line) for line in lines)
