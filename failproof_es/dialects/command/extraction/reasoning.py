"""Removes a model's reasoning: text before the answer that is not part of it."""

from __future__ import annotations

import re

from failproof_es.core.thoughts import NAMES

_TAG = re.compile(
    rf"(?:<(?P<end>/?)(?P<name>{NAMES}|reason|reflection|scratchpad|analysis"
    r"|deliberation)\b[^<>\n]*>|\[(?P<end2>/?)(?P<name2>THINK)\]|◁(?P<end3>/?)(?P<name3>think)▷)",
    re.IGNORECASE,
)
_FINAL = re.compile(r"\A.*<\|channel\|>final[^<]*<\|message\|>", re.DOTALL)
_SPECIAL = re.compile(r"<\|(?:end|return|eot_id|im_end|endoftext)\|>\s*\Z")
_BLANK_REST = re.compile(r"[^\S\n]*(?:\n|\Z)")
_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})", re.MULTILINE)


def split_reasoning(text: str) -> tuple[str, str]:
    """The reasoning, as it stood, and the rest.

    A block begins a line; a tag anywhere else is part of the text. A block that is not closed
    goes to the end: nothing behind it is known to be the answer. A closing tag with no opening
    one ends a block that began before the reply.
    """
    if final := _FINAL.match(text):
        return final[0], _SPECIAL.sub("", text[final.end() :])
    answer = _Answer()
    thoughts: list[str] = []
    depth, end, named = 0, 0, ""
    for tag in _TAG.finditer(text):
        name = (tag["name"] or tag["name2"] or tag["name3"]).lower()
        closes = bool(tag["end"] or tag["end2"] or tag["end3"])
        if depth == 0:
            answer.add(text[end : tag.start()])
            end = tag.start()
            if not answer.may_be_followed_by(tag, closes=closes):
                continue
            if closes:
                thoughts += [answer.take(), tag[0]]
                end = tag.end()
            else:
                depth, named = 1, name
        elif name == named:
            depth += -1 if closes else 1
            if depth == 0:
                thoughts.append(text[end : tag.end()])
                end = tag.end()
    if depth:
        thoughts.append(text[end:])
    else:
        answer.add(text[end:])
    return "".join(thoughts), answer.take()


class _Answer:
    """What is no reasoning, as far as it was read."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._begin()

    def _begin(self) -> None:
        self._has_fence = False
        self._is_blank = True  # the last line
        self._is_indentation = True
        self._has_quote = False

    def add(self, piece: str) -> None:
        """Go on reading: `piece` ends where a tag begins, or the text does."""
        self._pieces.append(piece)
        _, line_feed, line = piece.rpartition("\n")
        fence = _FENCE.search(piece, 0 if self._is_indentation else piece.find("\n") + 1)
        self._has_fence = self._has_fence or (
            fence is not None and (self._is_indentation or bool(line_feed))
        )
        if line_feed:
            self._is_blank = self._is_indentation = True
            self._has_quote = False
        self._is_blank = self._is_blank and not line.strip()
        self._is_indentation = self._is_indentation and not line.strip(" \t")
        self._has_quote = self._has_quote or "'" in line

    def take(self) -> str:
        """All that was read. What comes now begins a text."""
        read = "".join(self._pieces)
        self._pieces.clear()
        self._begin()
        return read

    def may_be_followed_by(self, tag: re.Match[str], *, closes: bool) -> bool:
        """Whether a tag right here is markup and no part of a command or of a code block."""
        if self._has_fence and not closes:
            return False
        ends_line = _BLANK_REST.match(tag.string, tag.end()) is not None
        return self._is_blank or (closes and ends_line and not self._has_quote)
