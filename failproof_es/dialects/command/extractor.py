"""The command in a reply: what surrounds it is taken off, and on record as taken off.

A model asked for a bare command often adds to it. `lenient` extraction takes off, in this
order, whatever of it is there:

1. `reasoning`    a `<think>...</think>` block.
2. `fence`        a Markdown code block: the first one that says it is shell, or that does not
                  say what it is; else the first. What stands around it is `explanation`.
3. `label`        `Command:` and the like before the command.
4. `code_span`    one pair of backticks around the whole reply, or inside a sentence when no
                  line is a command by itself.
5. `output`, `prompt_sign`  where lines begin with `$ ` or `user@host:dir$ `, those are the
                  commands and every other line is what they printed.
6. `explanation`  sentences before the command; the first sentence, list item or blank line
                  behind it, and all that follows. Not inside a here-document.
7. `quotes`       one pair of quotation marks around all of it.

A sentence is a line whose first word is capitalised like one, of three words or more, most of
them plain words, without an option. Nothing else is changed: no line is joined, no character
inside the command is touched. `strict` extraction takes off nothing at all.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

VERSION = "1"

Mode = Literal["lenient", "strict"]
Kind = Literal[
    "reasoning",
    "fence",
    "code_span",
    "output",
    "prompt_sign",
    "label",
    "explanation",
    "quotes",
]

_REASONING = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(
    r"^[ \t]*(?P<mark>`{3,}|~{3,})[ \t]*(?P<info>[^\n`]*)\n"
    r"(?P<body>.*?)(?:^[ \t]*(?P=mark)[^\n]*$|\Z)",
    re.DOTALL | re.MULTILINE,
)
_ONE_LINE_FENCE = re.compile(r"`{3,}(?P<body>[^`\n]+)`{3,}")
_SHELL = frozenset(
    {"", "sh", "bash", "shell", "zsh", "console", "terminal", "shell-session", "shellsession"}
)
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_SIGN = re.compile(r"^\s*(?:[\w.-]+@[\w.-]+:[^\s$#]*)?\$ +")
_LABEL = re.compile(
    r"\A[*_]*(?:command|cmd|answer|bash|shell|terminal|solution)[*_]*:[*_]*(?:[ \t]+|$)",
    re.I | re.M,
)
_HERE_DOCUMENT = re.compile(r"(?<!<)<<-?\s*(['\"]?)([A-Za-z_]\w*)\1")
_CAPITALISED = re.compile(r"[A-Z][a-z]*(?:['’][a-z]+)?[,.:;!?]?")
_WORD = re.compile(r"[A-Za-z]+(?:['’-][A-Za-z]+)*[,.:;!?]*|`[^`]*`[,.:;!?]*")
_OPTION = re.compile(r"--?[A-Za-z0-9]")
_LIST_ITEM = re.compile(r"(?:[-*+•]|\d+[.)])\s+(.*)")
_FEWEST_WORDS = 3
_PLAIN_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class Removed:
    """Something that was taken off, as it stood in the reply."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Extraction:
    """A reply's command and what was around it. An empty command: there is none."""

    command: str
    removed: tuple[Removed, ...] = ()


def extract(reply: str, mode: Mode = "lenient") -> Extraction:
    """The command in a reply. Deterministic; looks at nothing but the text."""
    if mode == "strict":
        return Extraction(reply)
    removed: list[Removed] = []
    text = reply
    if reasoning := _REASONING.match(text):
        removed.append(Removed("reasoning", reasoning[0]))
        text = text[reasoning.end() :]
    for take_off in (_unfenced, _unlabelled, _unspanned, _without_signs, _unexplained, _unquoted):
        text = take_off(text.strip("\n"), removed)
    return Extraction(text.strip(), tuple(removed))


def _unfenced(text: str, removed: list[Removed]) -> str:
    blocks = list(_FENCE.finditer(text))
    chosen = next((b for b in blocks if b["info"].strip().lower() in _SHELL), None)
    chosen = chosen or next(iter(blocks), None) or _ONE_LINE_FENCE.search(text)
    if chosen is None:
        return text
    removed.append(Removed("fence", f"```{chosen.groupdict().get('info') or ''}"))
    for around in (text[: chosen.start()], text[chosen.end() :]):
        if around.strip():
            removed.append(Removed("explanation", around.strip()))
    return chosen["body"]


def _unspanned(text: str, removed: list[Removed]) -> str:
    stripped = text.strip()
    whole = _SPAN.fullmatch(stripped)
    if whole is None:
        lines = [line for line in stripped.splitlines() if line.strip()]
        if not lines or not all(_is_sentence(line) for line in lines):
            return text
        whole = _SPAN.search(stripped)
        if whole is None:
            return text
    removed.append(Removed("code_span", "`"))
    for around in (stripped[: whole.start()], stripped[whole.end() :]):
        if around.strip():
            removed.append(Removed("explanation", around.strip()))
    return whole[1]


def _without_signs(text: str, removed: list[Removed]) -> str:
    lines = text.splitlines()
    if not any(_SIGN.match(line) for line in lines):
        return text
    ends = _ends(lines)
    kept: list[str] = []
    index = 0
    while index < len(lines):
        sign = _SIGN.match(lines[index])
        if sign is None:
            if lines[index].strip():
                removed.append(Removed("output", lines[index]))
            index += 1
            continue
        removed.append(Removed("prompt_sign", sign[0]))
        end = ends[index]
        while end < len(lines) and lines[end - 1].endswith("\\"):
            end += 1
        kept += [lines[index][sign.end() :], *lines[index + 1 : end]]
        index = end
    return "\n".join(kept)


def _ends(lines: Sequence[str]) -> list[int]:
    """For each line the one behind it, or behind the here-document that it opens."""
    places: dict[str, list[int]] = {}
    for index, line in enumerate(lines):
        places.setdefault(line.strip(), []).append(index)
    ends = []
    for index, line in enumerate(lines):
        opened = _HERE_DOCUMENT.search(line)
        closing = places.get(opened[2], []) if opened else []
        nearest = bisect_right(closing, index)
        ends.append(closing[nearest] + 1 if nearest < len(closing) else index + 1)
    return ends


def _unlabelled(text: str, removed: list[Removed]) -> str:
    text = text.lstrip()
    label = _LABEL.match(text)
    if label is None:
        return text
    removed.append(Removed("label", label[0].strip()))
    return text[label.end() :]


def _unexplained(text: str, removed: list[Removed]) -> str:
    lines = text.splitlines()
    first = 0
    while first < len(lines) and (not lines[first].strip() or _is_sentence(lines[first])):
        first += 1
    last = first
    ends = _ends(lines)
    while last < len(lines) and lines[last].strip() and not _is_sentence(lines[last]):
        last = ends[last]
    for around in ("\n".join(lines[:first]), "\n".join(lines[last:])):
        if around.strip():
            removed.append(Removed("explanation", around.strip()))
    return "\n".join(lines[first:last])


def _unquoted(text: str, removed: list[Removed]) -> str:
    stripped = text.strip()
    span = _SPAN.fullmatch(stripped)
    if span is not None:
        removed.append(Removed("code_span", "`"))
        return span[1]
    quote = stripped[:1]
    if quote in ('"', "'") and stripped.count(quote) == 2 and stripped.endswith(quote):
        inside = stripped[1:-1]
        if " " in inside:
            removed.append(Removed("quotes", quote))
            return inside
    return text


def _is_sentence(line: str) -> bool:
    """Whether a line is written for people (see the module's description)."""
    item = _LIST_ITEM.fullmatch(line.strip())
    text = item[1] if item else line
    words = _SPAN.sub("`code`", text).replace("**", "").split()
    if item and "`code`" in " ".join(words):
        return True
    if len(words) < _FEWEST_WORDS or not _CAPITALISED.fullmatch(words[0]):
        return False
    if any(_OPTION.match(word) for word in words):
        return False
    return sum(bool(_WORD.fullmatch(word)) for word in words) >= _PLAIN_SHARE * len(words)
