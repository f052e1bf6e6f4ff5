"""Extracts the command from a reply, and records everything that it removed.

A model asked for a bare command often adds to it. `lenient` extraction removes, in this order:

1. `reasoning`    blocks such as `<think>...</think>` (`reasoning.py`). HTML comments that take
                  whole lines at the beginning are `explanation`: no reader sees them, and no
                  shell runs their content.
2. `label`, `json`  tags around the whole text (`<code>ls</code>`), tokens of a chat template, JSON
                  with the command under a key that names one (`wrappings.py`).
3. `fence`        a Markdown code block: the first one with a shell label or without a label; else
                  the first (`markdown.py`). The text around it is `explanation`. All of its
                  lines are the command, blank ones too, except sentences at its beginning and
                  its end. An unopened mark at the end is removed alone.
4. `quotes`, `label`  outside a fence: marks of a quotation, of emphasis, of a list.
5. `label`        `Command:` and the like before the command.
6. `code_span`    one pair of backticks around the whole reply, or inside a sentence if no line is
                  a command by itself: the first span that is no option, and no program or
                  argument of a later span.
7. `output`, `prompt_sign`  if lines begin with `$ ` or another prompt, these are the commands and
                  every other line is their output (`terminal_sessions.py`).
8. `explanation`  outside a fence: sentences before the command; behind the command, the first
                  sentence, list item or blank line up to which the text is shell, and the rest.
                  So a quote or a loop may contain blank lines.
9. `quotes`       one pair of quotation marks around the whole command.

Code that the reply warns of (`Do not use `ls``, `Wrong:`) is skipped (`denied_code.py`); without
any other code the reply has no command (`denied`).

`prose.py` decides what a sentence is. Windows line ends become line feeds. Nothing else is changed:
no line is joined, no character inside the command is touched (except JSON's escapes). `strict`
extraction removes nothing at all.

Removed text that could be run is in `fragments`, for the safety checker: no mistake of the
extraction hides a command (`shown_code.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice, pairwise
from typing import Literal

from failproof_es.dialects.shipped.command.extraction import wrappings
from failproof_es.dialects.shipped.command.extraction.denied_code import is_denied
from failproof_es.dialects.shipped.command.extraction.here_documents import line_ends
from failproof_es.dialects.shipped.command.extraction.markdown import (
    DEEPEST,
    Fence,
    fences,
    one_line_fences,
)
from failproof_es.dialects.shipped.command.extraction.prose import (
    COMMAND_NAMES,
    is_prose,
    is_sentence,
)
from failproof_es.dialects.shipped.command.extraction.reasoning import split_reasoning
from failproof_es.dialects.shipped.command.extraction.shown_code import ShownCode, shown_code
from failproof_es.dialects.shipped.command.extraction.terminal_sessions import all_root, session
from failproof_es.shell_analysis.parse import refusals

VERSION = "6"

Mode = Literal["lenient", "strict"]
Kind = Literal[
    "reasoning", "fence", "code_span", "output", "prompt_sign", "label", "json", "explanation",
    "quotes", "denied",
]  # fmt: skip

Layers = tuple[tuple[Kind, Callable[[str], wrappings.Unwrapped | None]], ...]
_WRAPPINGS: Layers = (
    ("label", wrappings.token), ("label", wrappings.tag), ("json", wrappings.json_value)
)  # fmt: skip
_MARKS: Layers = (("quotes", wrappings.quotation), ("quotes", wrappings.emphasis))

_SPAN = re.compile(r"(?<!`)(?P<mark>`+)(?!`)(?P<code>[^`\n]+)(?P=mark)(?!`)")
_LABEL = re.compile(
    rf"\A[*_]*(?:{COMMAND_NAMES}|(?-i:A))[*_]*:[*_]*(?:[ \t]+|$)"
    rf"|\A[*_]*(?:[A-Za-z][\w'’]* ){{1,5}}(?:{COMMAND_NAMES})(?: is)?[*_]*:[*_]*[ \t]+(?=\S)"
    r"|\A(?:bash|sh|shell|zsh)[ \t]*\n(?=.*\S)",
    re.I | re.M,
)
_COMMENTS = re.compile(r"(?:\s*+<!--(?:(?!-->)[^\n])*+-->[ \t]*+(?=\n))++")
_DESCRIBES = re.compile(r"(?:man|which|type|info|help|whatis|apropos|whereis|command -[vV])\b")
_MOST_PARSES = 50
"""Possible ends of a command with blank lines that are tried."""
_MOST_LAYERS = 10


@dataclass(frozen=True, slots=True)
class RemovedText:
    """A removed part of the reply, verbatim, with its kind."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Extraction:
    """A reply's command and the text around it. The command is empty if there is none."""

    command: str
    removed: tuple[RemovedText, ...] = ()
    fragments: tuple[ShownCode, ...] = ()
    """Other text that a reader could take for a command and run."""


def extract(reply: str, mode: Mode = "lenient") -> Extraction:
    """The command in a reply, with the text around it. Deterministic; depends on the text alone.

    `strict` takes the whole reply as the command.
    """
    if mode == "strict":
        return Extraction(reply)
    removed: list[RemovedText] = []
    thought, answer = split_reasoning(reply.replace("\r\n", "\n"))
    if thought:
        removed.append(RemovedText("reasoning", thought))
    if (comments := _COMMENTS.match(answer)) is not None:
        removed.append(RemovedText("explanation", comments[0].strip()))
        answer = answer[comments.end() :]
    fence, text = _remove_fence(_remove_wrappings(answer.strip("\n"), removed).strip("\n"), removed)
    text = _remove_wrappings(text, removed)
    if fence is None:
        text = _without_marks(text, removed)
    for take_off in (_remove_label, _remove_code_span):
        text = take_off(text.strip("\n"), removed)
    root = fence is not None and (fence.is_console or all_root(text))
    text = _remove_session(text.strip("\n"), removed, root=root).strip("\n")
    if fence is None:
        first, text = _remove_explanation(text, removed)
        text = _without_marks(_remove_label(text, removed), removed)
    else:
        first = text = _remove_sentences(text, removed)
    command = _remove_quotes(text.strip("\n"), removed).strip()
    fragments = shown_code(answer, first.strip() if first != text and "\n" in text else command)
    return Extraction(command, tuple(removed), fragments)


def _remove_wrappings(text: str, removed: list[RemovedText]) -> str:
    """The text without tokens, tags and JSON around all of it, which go to `removed`."""
    return _remove_layers(text, _WRAPPINGS, removed)


def _without_marks(text: str, removed: list[RemovedText]) -> str:
    """The text without marks of a quotation, a list, or emphasis, which go to `removed`."""
    text = _remove_layers(text, _MARKS, removed)
    if not is_sentence(text.strip("\n").split("\n")[0]):
        text = _remove_layers(text, (("label", wrappings.list_mark), *_MARKS), removed)
    return text


def _remove_layers(text: str, layers: Layers, removed: list[RemovedText]) -> str:
    for _ in range(_MOST_LAYERS):
        for kind, layer in layers:
            if (unwrapped := layer(text)) is not None:
                removed += [RemovedText(kind, wrapping) for wrapping in unwrapped[0]]
                text = unwrapped[1]
                break
        else:
            return text
    return text


def _remove_fence(
    text: str, removed: list[RemovedText], depth: int = 0
) -> tuple[Fence | None, str]:
    lines = text.split("\n")
    blocks = fences(lines)
    if len(blocks) == 1 and _is_stray(blocks[0], lines):
        lines, blocks = lines[: blocks[0].start], []
        removed.append(RemovedText("fence", "```"))
        text = "\n".join(lines)
    candidates = _skip_denied(lines, blocks)
    if blocks and not candidates:
        removed.append(RemovedText("denied", "\n".join(block.body for block in blocks)))
        return blocks[0], ""
    fence = next((block for block in candidates if block.is_shell), None) or next(
        iter(candidates), None
    )
    if fence is not None and fence.is_markdown and depth < DEEPEST:
        inner = _remove_fence(fence.body, [], depth + 1)
        fence = (
            fence if inner[0] is None else Fence(inner[0].info, inner[1], fence.start, fence.end)
        )
    if fence is not None:
        before = "\n".join([*lines[: fence.start], fence.before])
        behind = "\n".join([fence.behind, *lines[fence.end :]])
    elif on_one_line := list(one_line_fences(text)):
        places = [(start, end) for start, end, _ in on_one_line]
        first = next(iter(_not_denied(text, places)), None)
        if first is None:
            removed.append(RemovedText("denied", text))
            return on_one_line[0][2], ""
        start, end, fence = on_one_line[first]
        before, behind = text[:start], text[end:]
    else:
        return None, text
    removed.append(RemovedText("fence", f"```{fence.info}"))
    _remove_around(removed, before, behind)
    return fence, fence.body


def _remove_around(removed: list[RemovedText], *texts: str) -> None:
    """Add the texts around the command to `removed`, without blank ones."""
    removed += [RemovedText("explanation", text.strip()) for text in texts if text.strip()]


def _skip_denied(lines: Sequence[str], blocks: Sequence[Fence]) -> list[Fence]:
    """The blocks that the reply does not warn of; `lines` are the reply's."""
    text = "\n".join(lines)
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    around = [
        (starts[block.start] + len(block.before), min(starts[block.end], len(text)))
        for block in blocks
    ]
    return [blocks[index] for index in _not_denied(text, around)]


def _not_denied(text: str, codes: Sequence[tuple[int, int]]) -> Iterator[int]:
    """The indices of the pieces of code that the reply does not warn of.

    `codes` are the (start, end) of each piece in `text`, in order, ends exclusive.
    """
    end, denied = 0, False
    for index, (start, after) in enumerate(codes):
        next_start = codes[index + 1][0] if index + 1 < len(codes) else len(text)
        denied = is_denied(text[end:start], text[after:next_start], after_denied=denied)
        if not denied:
            yield index
        end = after


def _is_stray(fence: Fence, lines: Sequence[str]) -> bool:
    """Whether the fence is a closing mark behind a command, without an opening one."""
    before = [line for line in lines[: fence.start] if line.strip()]
    empty = not (fence.info or fence.body.strip() or fence.before)
    return empty and bool(before) and not is_prose(before[-1])


def _remove_code_span(text: str, removed: list[RemovedText]) -> str:
    stripped = text.strip()
    whole = _SPAN.fullmatch(stripped)
    if whole is None:
        lines = [line for line in stripped.splitlines() if line.strip()]
        if not lines or not all(is_prose(line) for line in lines):
            return text
        spans = list(_SPAN.finditer(stripped))
        indexes = list(_not_denied(stripped, [span.span() for span in spans]))
        if spans and not indexes:
            removed.append(RemovedText("denied", stripped))
            return ""
        whole = _choose_span([spans[index] for index in indexes])
        if whole is None:
            return text
    removed.append(RemovedText("code_span", "`"))
    _remove_around(removed, stripped[: whole.start()], stripped[whole.end() :])
    return whole["code"]


def _choose_span(spans: Sequence[re.Match[str]]) -> re.Match[str] | None:
    """The first span that is a command, not an option, or a program or an argument of a later span.

    The first span of all if none is; `None` without spans.
    """
    codes = [span["code"].strip() for span in spans]
    last_uses, last_arguments = _last_uses(codes), _last_arguments(codes)
    for index, (span, code) in enumerate(zip(spans, codes, strict=True)):
        last_use = max(last_uses[code], last_arguments.get(code, -1))
        if last_use <= index and not code.startswith("-"):
            return span
    return spans[0] if spans else None


def _last_arguments(codes: Sequence[str]) -> dict[str, int]:
    """For each argument in the codes the index of the last code that has it.

    Without arguments of programs that describe others, such as `man ls`.
    """
    return {
        word.strip("'\""): index
        for index, code in enumerate(codes)
        if not _DESCRIBES.match(code)
        for before, word in pairwise(code.split())
        if before != "sudo" and not before.endswith((";", "|", "&"))
    }


def _last_uses(codes: Sequence[str]) -> dict[str, int]:
    """For each code the index of the last code that is it with more words; -1 without one.

    In sorted order, the extensions of a code directly follow it: each code is compared with its
    neighbour alone, not with all later ones.
    """
    last_indexes = {f"{code} ": index for index, code in enumerate(codes)}
    uses = dict.fromkeys(last_indexes, -1)
    beginnings: list[str] = []  # prefixes of the current code, each a prefix of the next

    def end_last() -> None:
        code = beginnings.pop()
        if beginnings:
            shorter = beginnings[-1]
            uses[shorter] = max(uses[shorter], uses[code], last_indexes[code])

    for code in sorted(last_indexes):
        while beginnings and not code.startswith(beginnings[-1]):
            end_last()
        beginnings.append(code)
    while beginnings:
        end_last()
    return {code: uses[f"{code} "] for code in codes}


def _remove_session(text: str, removed: list[RemovedText], *, root: bool) -> str:
    lines = session(text, root=root)
    if lines is None:
        return text
    for line in lines:
        if line.sign is not None:
            removed.append(RemovedText("prompt_sign", line.sign))
        elif line.text.strip():
            removed.append(RemovedText("output", line.text))
    return "\n".join(line.text for line in lines if line.sign is not None)


def _remove_label(text: str, removed: list[RemovedText]) -> str:
    text = text.lstrip()
    label = _LABEL.match(text)
    if label is None:
        return text
    removed.append(RemovedText("label", label[0].strip()))
    return text[label.end() :]


def _remove_explanation(text: str, removed: list[RemovedText]) -> tuple[str, str]:
    """The text up to the first possible end of the command, and the command.

    They differ if a quote or a loop continues behind a blank line. The text around the command goes
    to `removed`.
    """
    lines = text.splitlines()
    first = 0
    while first < len(lines) and (not lines[first].strip() or is_prose(lines[first])):
        first += 1
    ends = list(islice(_possible_ends(lines, first), _MOST_PARSES))
    last = ends[0]
    if len(ends) > 1:
        last = next((end for end in ends if _parses(lines[first:end])), last)
    _remove_around(removed, "\n".join(lines[:first]), "\n".join(lines[last:]))
    return "\n".join(lines[first : ends[0]]), "\n".join(lines[first:last])


def _possible_ends(lines: Sequence[str], first: int) -> Iterator[int]:
    """The indices of the lines before which the command from line `first` may end.

    These are blank lines, sentences and list items; the end of the text comes last.
    """
    behind = line_ends(lines)
    at = first
    while at < len(lines):
        if at > first and _may_end(lines, at):
            yield at
        at = behind[at]
    yield len(lines)


def _may_end(lines: Sequence[str], at: int) -> bool:
    line = lines[at]
    blank_before = not lines[at - 1].strip()
    is_item = wrappings.list_mark(line) is not None
    return not blank_before and (not line.strip() or is_prose(line) or is_item)


def _parses(lines: Sequence[str]) -> bool:
    return refusals(["\n".join(lines)]) == [None]


def _remove_sentences(text: str, removed: list[RemovedText]) -> str:
    """The lines of a fence without the sentences before the first command and behind the last.

    These sentences go to `removed`.
    """
    lines = text.splitlines()
    first, last = 0, len(lines)
    while first < last and (not lines[first].strip() or is_sentence(lines[first])):
        first += 1
    while last > first and (not lines[last - 1].strip() or is_sentence(lines[last - 1])):
        last -= 1
    if last < len(lines) and not _parses(lines[first:last]) and _parses(lines[first:]):
        last = len(lines)  # the last lines look like sentences and are part of a quote
    _remove_around(removed, "\n".join(lines[:first]), "\n".join(lines[last:]))
    return "\n".join(lines[first:last])


def _remove_quotes(text: str, removed: list[RemovedText]) -> str:
    stripped = text.strip()
    span = _SPAN.fullmatch(stripped)
    if span is not None:
        removed.append(RemovedText("code_span", "`"))
        return span["code"]
    quote = stripped[:1]
    if quote in ('"', "'") and stripped.count(quote) == 2 and stripped.endswith(quote):
        inside = stripped[1:-1]
        if " " in inside:
            removed.append(RemovedText("quotes", quote))
            return inside
    return text
