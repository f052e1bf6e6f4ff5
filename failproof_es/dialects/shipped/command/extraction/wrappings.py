"""Removes wrappings of a whole answer: JSON, tags, chat template tokens, emphasis.

Each function returns the removed parts and the rest, or `None` if it finds no wrapping. The rest
may have further wrappings, so the functions may be applied again.
"""

from __future__ import annotations

import re
import shlex
from collections import deque
from collections.abc import Iterator
from typing import Any

import orjson

from failproof_es.dialects.shipped.command.extraction.prose import COMMAND_NAMES, TAGS

Unwrapped = tuple[tuple[str, ...], str]
"""The removed parts, and the rest."""

_KEY = re.compile(rf"(?:\w*_)?(?:{COMMAND_NAMES}|script|code)(?:_(?:command|line))?", re.IGNORECASE)
_PLURAL_KEY = re.compile(r"(?:\w*_)?(?:commands|cmds)", re.IGNORECASE)
_OPENING = re.compile(rf"\s*<(?P<name>{TAGS}|bash|sh|shell|tool_call)(?:\s[^<>\n]*)?>", re.I)
_TOKEN_BEFORE = re.compile(
    r"\s*(?:<\|(?:start_header_id|im_start|start)\|>\s*assistant\b|<\|[\w ]+\|>|<s>|\[/INST\])"
)
_TOKEN_BEHIND = re.compile(r"(?:<\|[\w ]+\|>|</s>|\[/INST\])\s*\Z")
_PAIRS = (("“", "”"), ("‘", "’"), ("«", "»"), ("**", "**"), ("__", "__"), ("*", "*"))
_ITEM = re.compile(r"\s*(?:[-*+•]|\d+[.)])[ \t]+(?=\S)")
_QUOTED = re.compile(r"[ \t]*> ?")


def token(text: str) -> Unwrapped | None:
    """Remove a token of a chat template (`<|im_end|>`, `</s>`) at either end."""
    if match := _TOKEN_BEFORE.match(text):
        return (match[0].strip(),), text[match.end() :]
    if match := _TOKEN_BEHIND.search(text[-100:]):
        return (match[0].strip(),), text[: -len(match[0])]
    return None


def tag(text: str) -> Unwrapped | None:
    """Remove a pair of tags around the text: `<code>ls</code>`. The closing tag may be missing."""
    opening = _OPENING.match(text)
    if opening is None:
        return None
    inside = text[opening.end() :]
    closing = re.search(rf"</{opening['name']}>\s*\Z", inside, re.IGNORECASE)
    if closing is None:
        return (opening[0].strip(),), inside
    return (opening[0].strip(), closing[0].strip()), inside[: closing.start()]


def json_value(text: str) -> Unwrapped | None:
    """The command in JSON: the first value whose key names a command, unescaped.

    A list of strings is the words of a command, or several commands if its first string has blanks
    or its key is a plural.
    """
    stripped = text.strip()
    if not stripped.startswith(("{", "[")):
        return None
    try:
        command = next(_find_commands(orjson.loads(stripped)), None)
    except orjson.JSONDecodeError:
        return None
    return None if command is None else ((stripped,), command)


def _find_commands(value: Any) -> Iterator[str]:
    pending = deque([value])
    while pending:
        node = pending.popleft()
        if isinstance(node, list):
            pending += node
        elif isinstance(node, dict):
            for key, inner in node.items():
                if (command := _as_command(key, inner)) is not None:
                    yield command
                elif isinstance(inner, dict | list):
                    pending.append(inner)


def _as_command(key: str, value: Any) -> str | None:
    is_plural = _PLURAL_KEY.fullmatch(key) is not None
    lines = [value] if isinstance(value, str) else value
    if not (is_plural or _KEY.fullmatch(key)) or not isinstance(lines, list) or not lines:
        return None
    if not all(isinstance(line, str) for line in lines):
        return None
    is_one_command = len(lines) > 1 and not is_plural and " " not in lines[0]
    return shlex.join(lines) if is_one_command else "\n".join(lines)


def emphasis(text: str) -> Unwrapped | None:
    """Remove a pair of typographic quotes or emphasis marks around one line."""
    line = text.strip()
    for before, behind in _PAIRS:
        inside = line[len(before) : len(line) - len(behind)]
        wrapped = line.startswith(before) and line.endswith(behind) and inside.strip() == inside
        if wrapped and inside and "\n" not in inside and not _has(inside, before, behind):
            return (before,), inside
    return None


def _has(inside: str, before: str, behind: str) -> bool:
    return before[0] in inside or behind[-1] in inside


def list_mark(text: str) -> Unwrapped | None:
    """Remove the mark before the first item of a list."""
    match = _ITEM.match(text)
    return ((match[0].strip(),), text[match.end() :]) if match else None


def quotation(text: str) -> Unwrapped | None:
    """Remove Markdown's quotation mark before every line, unless it redirects: `> ls -l`."""
    lines = text.strip("\n").split("\n")
    marked = [_QUOTED.match(line) for line in lines]
    if not all(marked) or len(lines[0].split()) < len(("> ", "program", "operand")):
        return None
    return (">",), "\n".join(_QUOTED.sub("", line, count=1) for line in lines)
