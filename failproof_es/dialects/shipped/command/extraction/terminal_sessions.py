"""Parses terminal sessions: prompts, commands and their output."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from failproof_es.dialects.shipped.command.extraction.here_documents import line_ends

_PLACE = (
    r"(?:\([\w.-]+\) ?)?"
    r"(?:\[[\w.-]+@[^\]\n]+\] ?|[\w.-]+@[\w.-]+(?:(?::| )[^\s$#%>❯➜]*)? ?|(?:ba|z|k|da)?sh-[\d.]+"
    r"|~(?:/[^\s$#%]*)? ?|[\w.-]+:[~/][^\s$#%>]*(?: [\w.-]+)?|[a-z][\w.-]*(?=[$#]))"
)
_SIGN = re.compile(
    r"\s*(?:➜ +(?:~[^\s]*|[\w.~/-]+ git:\([^)\s]*\)(?: ✗)?)"
    rf"|{_PLACE}[$#%❯➜]|(?:\([\w.-]+\) ?)?[$%❯➜]) +(?=\S)"
)
_ROOT = re.compile(r"\s*# +(?=\S)")
_MORE = re.compile(r"\s*> ?")


@dataclass(frozen=True, slots=True)
class SessionLine:
    """A command or a line of output in a session.

    `sign` is the prompt before a command, `None` for output. A command may have several lines.
    """

    sign: str | None
    text: str


def session(text: str, *, root: bool = False) -> list[SessionLine] | None:
    """The lines of a session, or `None` if no command has a prompt.

    `root`: `# ` may be a prompt, if there is no other one; elsewhere it begins a comment. A command
    continues behind a backslash, in its here-documents, and on lines that begin with `> `.
    """
    lines = text.splitlines()
    ends = line_ends(lines)
    starts = list(_starts(lines, ends))
    sign = _SIGN
    if not any(sign.match(lines[at]) for at in starts):
        sign = _ROOT
        filled_lines = [line for line in lines if line.strip()]
        if not root or not filled_lines or not sign.match(filled_lines[0]):
            return None
    return _read_lines(lines, ends, sign)


def printed(lines: list[SessionLine]) -> str:
    """The output in a session as one text, without `# `, which may be another user's prompt."""
    texts = [line.text for line in lines if line.sign is None]
    return "\n".join(_ROOT.sub("", text, count=1) for text in texts)


def all_root(text: str) -> bool:
    """Whether every line begins with `# `, which then is a prompt if the text is in a fence.

    Blank lines do not count. `False` for a text without others.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    return bool(lines) and all(_ROOT.match(line) for line in lines)


def _starts(lines: list[str], ends: list[int]) -> Iterator[int]:
    """The indices of lines outside of here-documents; `ends` are the `line_ends` of the lines."""
    at = 0
    while at < len(lines):
        yield at
        at = ends[at]


def _read_lines(lines: list[str], ends: list[int], sign: re.Pattern[str]) -> list[SessionLine]:
    session_lines: list[SessionLine] = []
    at = 0
    while at < len(lines):
        signed = sign.match(lines[at])
        if signed is None:
            session_lines.append(SessionLine(None, lines[at]))
            at += 1
            continue
        end = ends[at]
        while end < len(lines) and lines[end - 1].endswith("\\") and not _MORE.match(lines[end]):
            end += 1
        command_lines = [lines[at][signed.end() :], *lines[at + 1 : end]]
        while end < len(lines) and (more := _MORE.match(lines[end])):
            command_lines.append(lines[end][more.end() :])
            end += 1
        session_lines.append(SessionLine(signed[0], "\n".join(command_lines)))
        at = end
    return session_lines
