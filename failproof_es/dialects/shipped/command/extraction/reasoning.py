"""Separates a model's reasoning from its answer."""

from __future__ import annotations

import re

from failproof_es.core.thoughts import ASIDE_NAMES, NAMES, split_thoughts

_BLOCK = re.compile(
    rf"^[ \t]*(?:<(?P<name>{NAMES}|{ASIDE_NAMES})\b[^<>\n]*>|\[(?P<bracket>THINK)\]"
    r"|◁(?P<wedge>think)▷)"
    r"(?s:.*?)(?:(?(name)</(?P=name)\b[^<>\n]*>|(?(bracket)\[/THINK\]|◁/think▷))|\Z)",
    re.IGNORECASE | re.MULTILINE,
)
_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})", re.MULTILINE)


def split_reasoning(text: str) -> tuple[str, str]:
    """The reasoning, verbatim, and the rest; the reasoning is empty if there is none.

    Thoughts at the beginning are those of every dialect (`core.thoughts`). A later block must begin
    a line outside of a code block; an unclosed one reaches to the end, because no text behind it is
    known to be the answer. A tag anywhere else is part of the text.
    """
    thoughts, rest, _ = split_thoughts(text)
    answer, removed, end, in_code = [], [thoughts], 0, False
    for block in _BLOCK.finditer(rest):
        between = rest[end : block.start()]
        in_code ^= len(_FENCE.findall(between)) % 2 == 1
        is_code = in_code
        answer.append(between + (block[0] if is_code else ""))
        removed.append("" if is_code else block[0])
        in_code ^= is_code and len(_FENCE.findall(block[0])) % 2 == 1
        end = block.end()
    return "".join(removed), "".join([*answer, rest[end:]])
