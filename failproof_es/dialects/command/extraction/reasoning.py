"""Removes a model's reasoning: text before the answer that is not part of it."""

from __future__ import annotations

import re

_TAG = re.compile(
    r"(?:<(?P<end>/?)(?P<name>think(?:ing)?|thoughts?|reason(?:ing)?|reflection|scratchpad|analysis"
    r"|deliberation)\b[^<>\n]*>|\[(?P<end2>/?)(?P<name2>THINK)\]|◁(?P<end3>/?)(?P<name3>think)▷)",
    re.IGNORECASE,
)
_FINAL = re.compile(r"\A.*<\|channel\|>final[^<]*<\|message\|>", re.DOTALL)
_SPECIAL = re.compile(r"<\|(?:end|return|eot_id|im_end|endoftext)\|>\s*\Z")
_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})", re.MULTILINE)


def split_reasoning(text: str) -> tuple[str, str]:
    """The reasoning, as it stood, and the rest.

    A block begins a line; a tag anywhere else is part of the text. A block that is not closed
    goes to the end: nothing behind it is known to be the answer. A closing tag with no opening
    one ends a block that began before the reply.
    """
    if final := _FINAL.match(text):
        return final[0], _SPECIAL.sub("", text[final.end() :])
    thought = ""
    while (block := _block(text)) is not None:
        start, end = block
        thought += text[start:end]
        text = text[:start] + text[end:]
    return thought, text


def _block(text: str) -> tuple[int, int] | None:
    """Where the first block begins and ends."""
    depth, start, named = 0, 0, ""
    for tag in _TAG.finditer(text):
        name = (tag["name"] or tag["name2"] or tag["name3"]).lower()
        closes = bool(tag["end"] or tag["end2"] or tag["end3"])
        if depth == 0:
            if not _stands_alone(text, tag, closes=closes):
                continue
            if closes:
                return 0, tag.end()
            depth, start, named = 1, tag.start(), name
        elif name == named:
            depth += -1 if closes else 1
            if depth == 0:
                return start, tag.end()
    return (start, len(text)) if depth else None


def _stands_alone(text: str, tag: re.Match[str], *, closes: bool) -> bool:
    """Whether a tag is markup and no part of a command or of a code block."""
    before = text[: tag.start()]
    begins = not before.rpartition("\n")[2].strip()
    ends = not text[tag.end() :].partition("\n")[0].strip()
    if _FENCE.search(before) and not closes:
        return False
    return begins or (closes and ends and "'" not in before.rpartition("\n")[2])
