"""Tells code that a reply warns of from code that it gives: "Do not use `ls`", "Wrong: `ls`".

Code is denied behind a denial in the same clause, or before a clause that calls it wrong. Code that
only `or` joins to denied code is denied, too.
"""

from __future__ import annotations

import re

_CLAUSE_END = re.compile(
    r"[.!?;\n](?=\s|$|[\"'`*_])|,\s|\b(?:but|instead|then|so|use|try|run|right|correct|good)\b(?!\s+not)",
    re.IGNORECASE,
)
_NOT = r"(?:not|n't|n’t)"
_RUNS = r"(?:use|using|run|running|type|typing|enter|execute|executing|try|do|write|call|issue)"
_DENIAL = re.compile(
    rf"""(?:
      \b(?:do|does|should|must|would|could|can|will|may)\s*{_NOT}\s+(?:(?:ever|just|simply|also
        |even|want\s+to|try\s+to|blindly)\s+)*(?:{_RUNS}|recommend|suggest|rely\s+on)\b
    | \b(?:i|we)(?:\s+(?:must|should|would|could|can|will|do|am|are)|'m|’m|'ll)?\s*{_NOT}\b
    | \b(?:i|we)\s+(?:(?:must|have\s+to)\s+)?(?:cannot|can't|won't|can’t|won’t|refuse|decline)\b
    | \b(?:cannot|can't|won't)\s+(?:{_RUNS}|recommend|suggest)\b
    | \b(?:never|not)\s+(?:ever\s+)?(?:{_RUNS}|recommend|going\s+to\s+\w+)\b
    | \bnever\b | \bavoid\b | \brefus(?:e|ing)\b | \bstop\s+(?:using|running|typing)\b
    | \b(?:instead\s+of|rather\s+than|as\s+opposed\s+to|not\s+to\s+be\s+confused\s+with|unlike)\b
    )(?:\W+\w+){{0,5}}\W*$
    | (?<!not\s)(?<!n't\s)(?<!n’t\s)\b(?:wrong|incorrect|bad|unsafe|dangerous|harmful|destructive
        |invalid|mistaken|forbidden|prohibited)(?:\s+(?:command|way|answer|version|example|approach
        |solution|one))?(?:\s+(?:is|was|would\s+be))?\W*$
    | \bnot\W*$ | [❌✗✘🚫]\W*$""",
    re.IGNORECASE | re.VERBOSE,
)
_NO_DENIAL = re.compile(
    r"""\b(?:go\s+wrong|nothing\s+wrong|why\s+(?:not|don't|don’t)|not\s+(?:only|just|merely|sure)
      |do(?:n't|n’t|\s+not)\s+(?:forget|hesitate|worry|need)|never\s+(?:hurts?|fails?|mind))\b""",
    re.IGNORECASE | re.VERBOSE,
)
_DENIED_BEHIND = re.compile(
    rf"""\W{{0,4}}(?:(?:this|that|it|which)\s+)?(?:
      (?:is|are|was|would\s+be|looks?|isn't|isn’t)\s+(?:\w+\s+){{0,2}}?(?:wrong|incorrect|dangerous
        |destructive|harmful|unsafe|forbidden|prohibited|bad|not\s+(?:correct|right|allowed|safe
        |recommended|the\s+answer|what\s+you\s+(?:want|need))|n(?:ever|o)\b)
    | (?:should|must|can|may|will)\s*(?:{_NOT}|never)\s+(?:ever\s+)?be\s+(?:run|used|executed|typed)
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_JOINED = re.compile(r"\s*(?:,\s*)?(?:or|nor|and|/|,)\s*(?:even\s+)?", re.IGNORECASE)
_MOST = 200
"""Characters before and behind code that are searched for a denial."""


def is_denied(before: str, behind: str, *, after_denied: bool) -> bool:
    """Whether the reply warns of the code between these texts.

    `before` begins behind the previous code, `behind` ends before the next one; `after_denied` says
    that the previous code is denied.
    """
    if after_denied and _JOINED.fullmatch(before):
        return True
    clause = before[-_MOST:].rstrip(" \t\n`*_\"'")
    ends = [end for end in _CLAUSE_END.finditer(clause) if not _is_denied_word(clause, end)]
    if ends:
        clause = clause[ends[-1].end() :]
    if _DENIAL.search(clause) and not _NO_DENIAL.search(clause):
        return True
    return _DENIED_BEHIND.match(behind[:_MOST].lstrip("`")) is not None


_OPENS_NO_CLAUSE = re.compile(
    r"(?:not|n't|n’t|never|than|avoid|refuse\s+to|of)\W+(?:\w+\W+){0,3}$", re.IGNORECASE
)


def _is_denied_word(clause: str, end: re.Match[str]) -> bool:
    """Whether the word that `end` matches in `clause` is denied: `use` is in `do not use`."""
    if not end[0].isalpha():
        return False
    before, behind = clause[: end.start()], clause[end.end() :]
    return bool(_OPENS_NO_CLAUSE.search(before)) or behind.lstrip().startswith("of")
