"""Thoughts inside the text of a reply, set apart from the answer before it is graded. Pure.

Servers without a parser for reasoning leave a model's thoughts in its text. Thoughts are not
graded: a draft in them could pass, a doubt could count as a refusal. The whole text stays on
record.

A thought is at the beginning of the text: `<think>`, `<thinking>`, `<thought>`, `<reasoning>`,
`[THINK]`, `◁think▷`, `<|channel|>analysis` and the like, in upper or lower case; several can follow
each other. An unclosed thought extends to the end: there is no answer. A closing tag before any
opening tag ends a thought that began in the prompt. Anywhere else a tag is part of the answer: in
the middle of the text, in a code block, in quotation marks, in a sentence that mentions it.

A prompt may itself ask for `<analysis>`, `<reflection>`, `<scratchpad>` and the like. They hold
thoughts only if they are closed and an answer follows.
"""

from __future__ import annotations

import re
from typing import NamedTuple

NAMES = r"(?:seed:)?(?:think(?:ing)?|thoughts?|reasoning)"
"""The names of tags around thoughts."""
ASIDE_NAMES = r"(?:reason|reflection|scratchpad|analysis|deliberation)"
"""The names of tags around thoughts, if an answer follows."""

_BLANK = r"[\s\ufeff\u00ad\u200b-\u200f\u2060]*"
_BEGIN, _CLOSE, _END = r"[<＜]\s{0,3}", r"[<＜]\s{0,3}/\s{0,3}", r"[^<>＜＞\n]*+\s*+(?<!/)[>＞]"
_OPENING = re.compile(
    rf"{_BLANK}(?:{_BEGIN}(?P<name>{NAMES})\b{_END}|\[(?P<bracket>THINK)\]|◁(?P<wedge>think)▷"
    r"|<\|(?P<begin>begin_of_thought|start_thinking|think(?:ing)?)\|>"
    r"|(?P<special><unused94>thought|<\|channel>thought))",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    rf"{_CLOSE}(?P<name>{NAMES})\b{_END}|\[/(?P<bracket>THINK)\]|◁/(?P<wedge>think)▷"
    r"|<\|(?P<begin>end_of_thought|end_thinking|/think(?:ing)?)\|>"
    r"|(?P<special><unused95>|<channel\|>)",
    re.IGNORECASE,
)
_ASIDE = re.compile(rf"{_BLANK}(?:{_BEGIN}{ASIDE_NAMES}\b{_END}|\[thinking\])", re.IGNORECASE)
_ASIDE_END = re.compile(rf"{_CLOSE}{ASIDE_NAMES}\b{_END}|\[/thinking\]", re.IGNORECASE)
_CHANNEL = re.compile(
    rf"{_BLANK}(?:<\|start\|>assistant)?<\|channel\|>(?:analysis|commentary|final)\b", re.IGNORECASE
)
_FINAL = re.compile(r"<\|channel\|>final[^<\n]*<\|message\|>", re.IGNORECASE)
_FINAL_TURN = re.compile(r"<\|start\|>assistant<\|channel\|>final[^<\n]*<\|message\|>", re.I)
_BARE_CHANNEL = re.compile(rf"{_BLANK}analysis(?=[A-Z])")
_BARE_FINAL = "assistantfinal"
_TOKENS = re.compile(r"(?:<\|(?:end|return|eot_id|im_end|endoftext)\|>\s*)+\Z")
_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})", re.MULTILINE)
_MENTIONED_OPENING = re.compile(rf"[<＜]{NAMES}\b|\[THINK\]|◁think▷", re.IGNORECASE)
_SOMETHING = re.compile(r"\S")
_QUOTES = "`'\"“”‘’«»"
_DELIMITERS = tuple("|#/,@%!:=+")
"""Signs that stand around a tag in a command: `s|</think>||`."""
_SENTENCE_ENDS = ".!?…:)*>"


class SplitReply(NamedTuple):
    """The text of a reply in two parts, without the white space between them and, after a channel,
    the tokens at the end."""

    thoughts: str
    """The thoughts with their tags; empty where there are none."""
    text: str
    """The answer, which is graded."""
    is_closed: bool = True
    """Whether the thoughts have an end. Without one there is no answer."""


def split_thoughts(text: str) -> SplitReply:
    """Split a text into the thoughts at its beginning and the answer after them."""
    if _CHANNEL.match(text) or _BARE_CHANNEL.match(text):
        return _split_channels(text)
    if final := _first_unquoted(_FINAL_TURN, text):
        return _split_at(text, final.end(), ends_in_tokens=True)
    end = 0
    while True:
        if opening := _OPENING.match(text, end):
            closing = _CLOSING.search(text, opening.end())
            if closing is None:
                return SplitReply(text, "", is_closed=False)
        elif (closing := _end_of_aside(text, end)) is None:
            break
        end = closing.end()
    while orphan := _find_orphan(text, end):
        end = orphan.end()
    return _split_at(text, end) if end else SplitReply("", text)


def _end_of_aside(text: str, start: int) -> re.Match[str] | None:
    """The match of the closing tag of an aside that begins at the index `start`.

    An aside is a part in tags of `ASIDE_NAMES`. `None` if none begins there, or no answer follows.
    """
    opening = _ASIDE.match(text, start)
    closing = None if opening is None else _ASIDE_END.search(text, opening.end())
    if closing is None or _SOMETHING.search(text, closing.end()) is None:
        return None
    return closing


def _split_channels(text: str) -> SplitReply:
    """Split a text with channels at its last final channel."""
    finals = list(_FINAL.finditer(text))
    if finals:
        return _split_at(text, finals[-1].end(), ends_in_tokens=True)
    is_bare = _CHANNEL.match(text) is None
    at = text.find(_BARE_FINAL) if is_bare else -1
    if at >= 0:
        return _split_at(text, at + len(_BARE_FINAL))
    return SplitReply("", text) if is_bare else SplitReply(text, "", is_closed=False)


def _split_at(text: str, end: int, *, ends_in_tokens: bool = False) -> SplitReply:
    answer = text[end:].lstrip()
    return SplitReply(text[:end], _TOKENS.sub("", answer) if ends_in_tokens else answer)


def _find_orphan(text: str, start: int) -> re.Match[str] | None:
    """The match of a closing tag without an opening one: everything before it is a thought.

    `None` if there is none. Tags in quotation marks or code do not count. `start` is the end of the
    thoughts so far. A thought that mentions its closing tag was ended there, too soon: then the
    next closing tag ends it, provided that an answer follows.
    """
    closing = _CLOSING.search(text, start)
    if closing is None or (start and _SOMETHING.search(text, closing.end()) is None):
        return None
    before, after = text[start : closing.start()], text[closing.end() : closing.end() + 1]
    if _MENTIONED_OPENING.search(before) or len(_FENCE.findall(before)) % 2:
        return None
    return None if _is_mentioned(before, after) else closing


def _is_mentioned(before: str, after: str) -> bool:
    """Whether the tag between these texts is quoted or mentioned in a sentence."""
    if any(sign and sign in _QUOTES for sign in (before[-1:], after)):
        return True
    if before[-1:] == after and after in _DELIMITERS:
        return True
    line = before.rpartition("\n")[2]
    if not line.strip() or not line[-1:].isspace():
        return False  # the tag begins its line, or directly follows a word
    return after not in ("\n", "\r") and line.rstrip()[-1:] not in _SENTENCE_ENDS


def _first_unquoted(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    match = pattern.search(text)
    if match is None:
        return None
    before = text[: match.start()]
    is_quoted = before[-1:] in tuple(_QUOTES) or len(_FENCE.findall(before)) % 2
    return None if is_quoted else match
