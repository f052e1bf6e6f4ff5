"""The command in a reply: what surrounds it is taken off, and on record as taken off.

A model asked for a bare command often adds to it. `lenient` extraction takes off, in this
order, whatever of it is there:

1. `reasoning`    blocks such as `<think>...</think>` (`reasoning.py`).
2. `fence`        a Markdown code block: the first one that says it is shell, or that does not
                  say what it is; else the first (`markdown.py`). What stands around it is
                  `explanation`. All of its lines are the command, blank ones too, but for
                  sentences at its beginning and its end.
3. `label`        `Command:` and the like before the command.
4. `code_span`    one pair of backticks around the whole reply, or inside a sentence when no
                  line is a command by itself.
5. `output`, `prompt_sign`  where lines begin with `$ ` or another prompt, those are the
                  commands and every other line is what they printed (`prompts.py`).
6. `explanation`  outside a fence: sentences before the command; the first sentence, list item
                  or blank line behind it, and all that follows. Not inside a here-document.
7. `quotes`       one pair of quotation marks around all of it.

A sentence is what `prose.py` takes for one. Line ends of Windows become line feeds. Nothing
else is changed: no line is joined, no character inside the command is touched. `strict`
extraction takes off nothing at all.

What was taken off and could be run all the same is in `beside`, for the safety checker: no
mistake of the extraction hides a command (`shown_code.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from failproof_es.dialects.command.here_documents import line_ends
from failproof_es.dialects.command.markdown import Fence, fences, one_line_fence
from failproof_es.dialects.command.prompts import all_root, session
from failproof_es.dialects.command.prose import is_sentence
from failproof_es.dialects.command.reasoning import split_reasoning
from failproof_es.dialects.command.shown_code import Shown, shown_code

VERSION = "2"

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

_SPAN = re.compile(r"(?<!`)(?P<mark>`+)(?!`)(?P<code>[^`\n]+)(?P=mark)(?!`)")
_LABEL = re.compile(
    r"\A(?:[*_]*(?:command|cmd|answer|bash|shell|terminal|solution)[*_]*:[*_]*(?:[ \t]+|$)"
    r"|<(?:answer|command|cmd)>)",
    re.I | re.M,
)
_ANSWER_END = re.compile(r"</(?:answer|command|cmd)>\s*\Z", re.I)


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
    beside: tuple[Shown, ...] = ()
    """What a reader could take for a command and run, besides the command."""


def extract(reply: str, mode: Mode = "lenient") -> Extraction:
    """The command in a reply. Deterministic; looks at nothing but the text."""
    if mode == "strict":
        return Extraction(reply)
    removed: list[Removed] = []
    thought, said = split_reasoning(reply.replace("\r\n", "\n"))
    if thought:
        removed.append(Removed("reasoning", thought))
    fence, text = _unfenced(said.strip("\n"), removed)
    for take_off in (_unlabelled, _unspanned):
        text = take_off(text.strip("\n"), removed)
    root = fence is not None and (fence.is_console or all_root(text))
    text = _without_signs(text.strip("\n"), removed, root=root)
    explained = _unexplained if fence is None else _without_sentences
    command = _unquoted(explained(text.strip("\n"), removed).strip("\n"), removed).strip()
    return Extraction(command, tuple(removed), shown_code(said, command))


def _unfenced(text: str, removed: list[Removed]) -> tuple[Fence | None, str]:
    lines = text.split("\n")
    blocks = fences(lines)
    chosen = next((block for block in blocks if block.is_shell), None) or next(iter(blocks), None)
    if chosen is not None and chosen.label in ("markdown", "md"):
        inner = _unfenced(chosen.body, [])
        chosen = (
            chosen if inner[0] is None else Fence(inner[0].info, inner[1], chosen.start, chosen.end)
        )
    if chosen is not None:
        before = "\n".join(lines[: chosen.start])
        behind = "\n".join([chosen.behind, *lines[chosen.end :]])
    elif (on_one_line := one_line_fence(text)) is not None:
        before, chosen, behind = on_one_line
    else:
        return None, text
    removed.append(Removed("fence", f"```{chosen.info}"))
    for around in (before, behind):
        if around.strip():
            removed.append(Removed("explanation", around.strip()))
    return chosen, chosen.body


def _unspanned(text: str, removed: list[Removed]) -> str:
    stripped = text.strip()
    whole = _SPAN.fullmatch(stripped)
    if whole is None:
        lines = [line for line in stripped.splitlines() if line.strip()]
        if not lines or not all(is_sentence(line) for line in lines):
            return text
        whole = _SPAN.search(stripped)
        if whole is None:
            return text
    removed.append(Removed("code_span", "`"))
    for around in (stripped[: whole.start()], stripped[whole.end() :]):
        if around.strip():
            removed.append(Removed("explanation", around.strip()))
    return whole["code"]


def _without_signs(text: str, removed: list[Removed], *, root: bool) -> str:
    lines = session(text, root=root)
    if lines is None:
        return text
    for line in lines:
        if line.sign is not None:
            removed.append(Removed("prompt_sign", line.sign))
        elif line.text.strip():
            removed.append(Removed("output", line.text))
    return "\n".join(line.text for line in lines if line.sign is not None)


def _unlabelled(text: str, removed: list[Removed]) -> str:
    text = text.lstrip()
    label = _LABEL.match(text)
    if label is None:
        return text
    removed.append(Removed("label", label[0].strip()))
    text = text[label.end() :]
    if label[0].startswith("<") and (end := _ANSWER_END.search(text)):
        removed.append(Removed("label", end[0].strip()))
        text = text[: end.start()]
    return text


def _unexplained(text: str, removed: list[Removed]) -> str:
    lines = text.splitlines()
    first = 0
    while first < len(lines) and (not lines[first].strip() or is_sentence(lines[first])):
        first += 1
    last = first
    ends = line_ends(lines)
    while last < len(lines) and lines[last].strip() and not is_sentence(lines[last]):
        last = ends[last]
    for around in ("\n".join(lines[:first]), "\n".join(lines[last:])):
        if around.strip():
            removed.append(Removed("explanation", around.strip()))
    return "\n".join(lines[first:last])


def _without_sentences(text: str, removed: list[Removed]) -> str:
    """The lines of a fence without the sentences before the first command and behind the last."""
    lines = text.splitlines()
    first, last = 0, len(lines)
    while first < last and (not lines[first].strip() or is_sentence(lines[first])):
        first += 1
    while last > first and (not lines[last - 1].strip() or is_sentence(lines[last - 1])):
        last -= 1
    for around in ("\n".join(lines[:first]), "\n".join(lines[last:])):
        if around.strip():
            removed.append(Removed("explanation", around.strip()))
    return "\n".join(lines[first:last])


def _unquoted(text: str, removed: list[Removed]) -> str:
    stripped = text.strip()
    span = _SPAN.fullmatch(stripped)
    if span is not None:
        removed.append(Removed("code_span", "`"))
        return span["code"]
    quote = stripped[:1]
    if quote in ('"', "'") and stripped.count(quote) == 2 and stripped.endswith(quote):
        inside = stripped[1:-1]
        if " " in inside:
            removed.append(Removed("quotes", quote))
            return inside
    return text
