"""Finds every other text in a reply that a reader could take for a command.

Extraction has to choose; this module does not. It returns every code block under both readings of
Markdown, all shell blocks in sequence (variables of the first count in the second), the labels of
blocks, sessions, inline code, and every other line that is no sentence. Reasoning is left out,
because it is not part of the answer, and comments, because the shell ignores them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import orjson

from failproof_es.dialects.shipped.command.extraction.here_documents import line_ends
from failproof_es.dialects.shipped.command.extraction.markdown import DEEPEST, Fence, fences, spans
from failproof_es.dialects.shipped.command.extraction.prose import could_run, without_lead
from failproof_es.dialects.shipped.command.extraction.terminal_sessions import (
    all_root,
    printed,
    session,
)


@dataclass(frozen=True, slots=True)
class ShownCode:
    """A text that could be run; `certain` if the reply labels it as a shell command."""

    text: str
    certain: bool = False


def shown_code(reply: str, command: str) -> tuple[ShownCode, ...]:
    """The runnable texts of a reply, each once, without `command`, the one extracted from it."""
    fragments = [*_shown_in_blocks(reply), *_shown_outside_blocks(reply, command)]
    texts: dict[str, bool] = {}
    for fragment in fragments:
        text = fragment.text.strip()
        if text and text != command:
            texts[text] = texts.get(text, False) or fragment.certain
    return tuple(ShownCode(text, certain) for text, certain in texts.items())


def _shown_in_blocks(text: str, depth: int = 0) -> Iterator[ShownCode]:
    lines = text.split("\n")
    for strict in (False, True):
        blocks = fences(lines, strict=strict)
        shells = [_commands(block) for block in blocks if block.is_shell]
        for block in blocks:
            yield ShownCode(_commands(block), block.is_shell and bool(block.label))
            yield ShownCode(block.behind)
            yield ShownCode(
                printed(session(block.body, root=_has_root(block)) or []), certain=False
            )
            yield from _in_json(block.body)
            yield from _programs(block)
            yield ShownCode("\n".join(map(without_lead, block.body.split("\n"))))
            if block.is_markdown and depth < DEEPEST:
                yield from _shown_in_blocks(block.body, depth + 1)
            if " " in block.info:
                yield ShownCode(block.info)
                yield ShownCode(block.info.partition(" ")[2])
        if len(shells) > 1:
            yield ShownCode("\n".join(shells))


_INTERPRETERS = {
    **dict.fromkeys(("python", "python3", "py", "ipython", "pycon"), "python3 -c"),
    **dict.fromkeys(("perl", "pl"), "perl -e"),
    **dict.fromkeys(("ruby", "rb"), "ruby -e"),
    **dict.fromkeys(("javascript", "js", "node", "nodejs", "typescript", "ts"), "node -e"),
    **dict.fromkeys(("powershell", "pwsh", "ps1", "ps"), "pwsh -Command"),
    **dict.fromkeys(("sql", "postgresql", "psql"), "psql -c"),
    "php": "php -r",
    "lua": "lua -e",
    "r": "Rscript -e",
    "julia": "julia -e",
    "awk": "awk",
    "mysql": "mysql -e",
    "sqlite": "sqlite3 x",
    "sqlite3": "sqlite3 x",
}
"""The command that runs a program, by the label of its block."""
_LOOKS_LIKE_PYTHON = re.compile(r"^(?:import \w|from [\w.]+ import )|^#!.*\bpython", re.MULTILINE)


def _programs(block: Fence) -> Iterator[ShownCode]:
    """The shell command that runs the block, if it is a program in another language."""
    run = _INTERPRETERS.get(block.label)
    if run is None and _LOOKS_LIKE_PYTHON.search(block.body):
        run = "python3 -c"
    if run is not None:
        yield ShownCode(f"{run} {shlex.quote(block.body)}")


def _has_root(block: Fence) -> bool:
    return block.is_console or all_root(block.body)


def _commands(block: Fence) -> str:
    """The runnable lines of a block: the commands of a session, else all lines."""
    lines = session(block.body, root=_has_root(block))
    if lines is None:
        return block.body
    return "\n".join(line.text for line in lines if line.sign is not None)


def _shown_outside_blocks(reply: str, command: str) -> Iterator[ShownCode]:
    """The runnable texts outside of code blocks, without `command`.

    They may come together with it, or several of them as one text.
    """
    text = _text_outside_blocks(reply)
    text = _remove_command(text, command)
    for span in spans(text):
        yield ShownCode(span)
    lines = session(text) or []
    for line in lines:
        if line.sign is not None:
            yield ShownCode(line.text, certain=True)
    yield ShownCode(printed(lines))
    yield from _in_json(_text_outside_blocks(reply))
    groups = list(_groups(text))
    for group in groups:
        yield ShownCode(group)
    yield ShownCode("\n".join([command, *groups]))
    for group in [command, *groups]:
        bare = "\n".join(without_lead(line) for line in group.split("\n"))
        if bare != group:
            yield ShownCode(bare)


def _in_json(text: str) -> Iterator[ShownCode]:
    """The strings in a text that is JSON; none for any other text."""
    if not text.lstrip().startswith(("{", "[", '"')):
        return
    try:
        pending = [orjson.loads(text)]
    except orjson.JSONDecodeError:
        return
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            yield ShownCode(value)
        elif isinstance(value, dict | list):
            pending += value.values() if isinstance(value, dict) else value


def _remove_command(text: str, command: str) -> str:
    """The text without the command's lines; unchanged if the command is not whole lines."""
    start = text.find(command) if command else -1
    if start < 0:
        return text
    before, behind = text[:start], text[start + len(command) :]
    if before.rpartition("\n")[2].strip() or behind.partition("\n")[0].strip():
        return text
    return f"{before}\n{behind}"


def _text_outside_blocks(reply: str) -> str:
    lines = reply.split("\n")
    block_lines = {at for block in fences(lines) for at in range(block.start, block.end)}
    return "\n".join("" if at in block_lines else line for at, line in enumerate(lines))


def _groups(text: str) -> Iterator[str]:
    """The lines that could be run; adjacent ones together."""
    lines = text.split("\n")
    runs = _could_run(lines)
    for is_runnable, group in groupby(range(len(lines)), key=lambda at: runs[at]):
        if is_runnable:
            yield "\n".join(lines[at] for at in group)


def _could_run(lines: Sequence[str]) -> list[bool]:
    ends = line_ends(lines)
    runs: list[bool] = []
    while len(runs) < len(lines):
        at = len(runs)
        runs += [bool(lines[at].strip()) and could_run(lines[at])] * (ends[at] - at)
    return runs
