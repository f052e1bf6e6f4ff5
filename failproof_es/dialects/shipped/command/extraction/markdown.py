"""Code in Markdown: fences, spans, and the language that a fence names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from failproof_es.dialects.shipped.command.extraction.here_documents import line_ends

_PROGRAMS = frozenset({"sh", "bash", "zsh", "ksh", "dash", "ash", "fish", "command"})
_CONSOLES = frozenset(
    {"console", "terminal", "shell-session", "shellsession", "bash-session", "sh-session",
     "console-session"}
)  # fmt: skip
_SHELLS = (
    _PROGRAMS
    | _CONSOLES
    | {"shell", "posix", "shellscript", "shell-script", "commandline", "command-line", "cli"}
)
_MARKDOWN = frozenset({"markdown", "md"})
DEEPEST = 3
"""Levels of Markdown in Markdown that are read. Each level is read again in two ways: without a
limit 400 characters would take minutes."""
_BEFORE = r"[ \t]*(?:(?:[-*+>]|\d+[.)])[ \t]+)*"
_OPEN = re.compile(rf"(?P<before>{_BEFORE})(?P<mark>`{{3,}}|~{{3,}})(?P<info>.*)")
_OPEN_BEHIND = re.compile(r"(?P<lead>[^`\n]*[^`\s\\])[ \t]*(?P<mark>`{3,})[ \t]*(?P<info>[\w+#-]*)")
"""A mark behind a sentence that opens a fence; without a label, the sentence must end in a
colon."""
_CLOSE_BEHIND = re.compile(r"(?P<last>.*[^\s\\])[ \t]*```[ \t]*")
"""A mark that closes a fence behind the last command, whose backticks must be paired."""
_LABEL = re.compile(r"[\s{.]*(?:language-)?([\w+#-]*)")
_ARGUMENT = re.compile(r"[-|&;].*|\S+\.(?:sh|bash|zsh|ksh)")
"""Text behind a shell's name that makes the name a command, not a label."""
_SPAN = re.compile(r"(?<!`)(`+)(?!`)([^\n]+?)(?<!`)\1(?!`)")
_ONE_LINE = re.compile(r"(?<!`)(`{3,})(?!`)(?P<body>[^\n]+?)(?<!`)\1(?!`)")


@dataclass(frozen=True, slots=True)
class Fence:
    """A code block: its lines without the marks, and its place in the text.

    `info` is the text behind the opening mark, such as the language; `start` is the index of the
    line with that mark.
    """

    info: str
    body: str
    start: int
    end: int
    """The line behind the last one, which is the closing mark if there is one."""
    behind: str = ""
    """The text behind the closing mark, on its line."""
    before: str = ""
    """The text before the opening mark, on its line."""

    @property
    def label(self) -> str:
        """The fence's language in lower case; empty without one."""
        match = _LABEL.match(self.info)
        return match[1].lower() if match else ""

    @property
    def is_shell(self) -> bool:
        """Whether the fence's language is shell or missing."""
        return not self.label or self.label in _SHELLS

    @property
    def is_markdown(self) -> bool:
        """Whether the fence's language is Markdown, whose own fences have the code."""
        return self.label in _MARKDOWN

    @property
    def is_console(self) -> bool:
        """Whether the fence shows a session: commands with their output."""
        return self.label in _CONSOLES


def fences(lines: Sequence[str], *, strict: bool = False) -> list[Fence]:
    """The code blocks in the lines of a text, in order; an unclosed one reaches to the end.

    `strict` reads as CommonMark does. Otherwise a mark inside a here-document is text, and a mark
    with text behind it closes a block, too: models write both.
    """
    blocks = []
    marked = any("```" in line or "~~~" in line for line in lines)
    ends = line_ends(lines) if marked else []
    at = 0 if marked else len(lines)
    while at < len(lines):
        opened = _opening(lines[at], strict=strict)
        if opened is None or (opened["mark"][0] == "`" and "`" in opened["info"]):
            at += 1
            continue
        body, end, behind = _body(lines, at, opened, ends, strict=strict)
        before = opened.groupdict().get("lead") or ""
        fence = _fence(opened["info"].strip(), body, at, end, behind)
        blocks.append(replace(fence, before=before) if before else fence)
        at = end
    return blocks


def _opening(line: str, *, strict: bool) -> re.Match[str] | None:
    opened = _OPEN.fullmatch(line)
    if opened is not None or strict or "```" not in line:
        return opened
    behind = _OPEN_BEHIND.fullmatch(line)
    if behind is None:
        return None
    labelled = behind["info"].lower() in _SHELLS
    return behind if labelled or (not behind["info"] and behind["lead"].endswith(":")) else None


def _body(
    lines: Sequence[str], start: int, opened: re.Match[str], ends: Sequence[int], *, strict: bool
) -> tuple[list[str], int, str]:
    """The lines inside a fence, the next line to read, and the text behind the closing mark.

    `start` is the line of the opening mark, which `opened` matches; `ends` are the `line_ends` of
    all lines.
    """
    mark, indent = opened["mark"], opened.groupdict().get("before") or ""
    quoted = ">" in indent
    close = re.compile(rf"{_BEFORE}{re.escape(mark)}{re.escape(mark[0])}*(?P<rest>.*)")
    body: list[str] = []
    at = start + 1
    while at < len(lines):
        closed = close.fullmatch(lines[at])
        if closed and not closed["rest"].strip():
            return body, at + 1, ""
        if closed and not strict and "`" not in closed["rest"]:
            opens = len(closed["rest"].split()) == 1
            return (body, at, "") if opens else (body, at + 1, closed["rest"].strip())
        end = at + 1 if strict else ends[at]
        last = None if strict or mark != "```" else _CLOSE_BEHIND.fullmatch(lines[at])
        if last is not None and last["last"].count("`") % 2 == 0:
            return [*body, _remove_prefix(last["last"], indent, quoted=quoted)], at + 1, ""
        body += [_remove_prefix(line, indent, quoted=quoted) for line in lines[at:end]]
        at = end
    return body, len(lines), ""


def _remove_prefix(line: str, before: str, *, quoted: bool) -> str:
    """The line without the indentation and quotation marks of its fence.

    `before` is the text before the fence's opening mark; `quoted` says that it has a quotation
    mark.
    """
    if quoted:
        line = re.sub(r"^[ \t]*> ?", "", line)
        before = before.replace(">", "")
    width = len(line) - len(line.lstrip(" \t"))
    return line[min(width, len(before)) :]


def _fence(info: str, body: list[str], start: int, end: int, behind: str) -> Fence:
    if info and not any(line.strip() for line in body):
        label, command = _first_line(info)
        return Fence(label, command, start, end, behind)
    return Fence(info, "\n".join(body) + "\n", start, end, behind)


def _first_line(text: str) -> tuple[str, str]:
    """The label and the command of a fence on one line; the label is empty without one.

    `bash rm -rf x` has the label `bash`, but `ls -l` and `bash -c 'ls'` are commands.
    """
    first, _, rest = text.strip().partition(" ")
    follows = rest.split(" ")[0]
    is_program = first.lower() in _PROGRAMS and _ARGUMENT.fullmatch(follows)
    if first.lower() in _SHELLS and rest.strip() and not is_program:
        return first, rest.strip()
    if first.lower() in _SHELLS and not rest.strip():
        return first, ""
    return "", text.strip()


def one_line_fences(text: str) -> Iterator[tuple[int, int, Fence]]:
    """(start, end, fence) of the fences that open and close on one line.

    `start` and `end` (exclusive) are positions in the text, not lines.
    """
    for match in _ONE_LINE.finditer(text):
        label, command = _first_line(match["body"])
        yield match.start(), match.end(), Fence(label, command, 0, 1)


def spans(text: str) -> Iterator[str]:
    """The texts in backticks, one pair or several, each on one line.

    A text that begins with a shell's name as a label comes again without the label.
    """
    for match in _SPAN.finditer(text):
        yield match[2].strip()
        label, command = _first_line(match[2])
        if label:
            yield command
