"""Parses shell text into a syntax tree; nothing here runs a command.

The parser is `shfmt`, which accepts the same texts as `bash -n`. Its typed JSON is the tree that
the checkers read: nodes are dictionaries, `Type` names the kind if several kinds are possible,
`Pos.Offset` and `End.Offset` count bytes of the UTF-8 command.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from failproof_es.shell_analysis.errors import Unparseable
from failproof_es.shell_analysis.parse import programs, shfmt
from failproof_es.shell_analysis.parse.batching import Batcher
from failproof_es.shell_analysis.parse.shfmt import Language, Node, Tree, Unread, too_deep

__all__ = [
    "LONGEST_BYTES",
    "Language",
    "Node",
    "Script",
    "parse_command",
    "parse_commands",
    "refusals",
    "tool_version",
]

LONGEST_BYTES = 4096
_MOST_OPERATORS = 500
"""Most `|` and `&` in one command, without those that are certainly quoted. The depth of shfmt's
tree grows with their number, its time and memory with the square: 2,000 take 400 MB."""
_QUOTED = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*\"""", re.DOTALL)
_UNSURE = re.compile(r"[#`]|<<|\$['({]")
"""In a text with one of these, only a parser can tell which characters are quoted."""


@dataclass(frozen=True, slots=True)
class Script:
    """A command and its syntax tree (a `File` node of shfmt's typed JSON).

    Every call of `parse_command` returns a new tree, which the caller may change.
    """

    command: str
    tree: Node


def parse_command(command: str, language: Language = "bash") -> Script:
    """The command with its syntax tree.

    Raises `Unparseable` if the text is not a command, `ProgramMissing` without `shfmt`.
    """
    (read,) = _read_trees([command], language)
    if isinstance(read, Unparseable):
        raise Unparseable(read.reason, read.code)
    return Script(command, read.file())


def parse_commands(
    commands: Iterable[str], language: Language = "bash"
) -> list[Script | Unparseable]:
    """Each command with its syntax tree, or the reason why it has none, in order.

    Parses many in one process, and runs one process per core. A command that ends or delays the
    parser is read again alone, as may be others of its batch. Raises `ProgramMissing` without
    `shfmt`.
    """
    texts = list(commands)
    return [
        Unparseable(read.reason, read.code)
        if isinstance(read, Unparseable)
        else Script(command, read.file())
        for command, read in zip(texts, _read_trees(texts, language), strict=True)
    ]


def refusals(commands: Sequence[str], language: Language = "bash") -> list[Unparseable | None]:
    """For each command why it can't be parsed; `None` if it can. Builds no trees.

    Raises `ProgramMissing` without `shfmt`.
    """
    read = _read_trees(commands, language)
    return [outcome if isinstance(outcome, Unparseable) else None for outcome in read]


def tool_version() -> str:
    """Name and version of the parser, such as `shfmt-3.10.0`."""
    return f"shfmt-{programs.version('shfmt')}"


def _read_trees(commands: Sequence[str], language: Language) -> list[Tree | Unparseable]:
    """For each command its tree as JSON, or why it has none, in order."""
    outcomes: list[Tree | Unparseable | None] = [_refusal(command) for command in commands]
    texts = [text for text, refusal in zip(commands, outcomes, strict=True) if refusal is None]
    if texts:
        programs.locate("shfmt")  # a cached answer must not hide that the program is missing
    answers = iter(_READERS[language].ask(texts))
    return [next(answers) if outcome is None else outcome for outcome in outcomes]


def _size(read: Tree | Unparseable) -> int | None:
    if isinstance(read, Unread):
        return None
    return len(read.json) if isinstance(read, Tree) else len(read.reason)


def _reader(language: Language) -> Batcher[Tree | Unparseable]:
    return Batcher(lambda texts: shfmt.read(texts, language), _size)


_READERS: Mapping[Language, Batcher[Tree | Unparseable]] = {
    "bash": _reader("bash"),
    "posix": _reader("posix"),
}


def _refusal(command: str) -> Unparseable | None:
    """Why a text is not given to the parser at all; `None` if it is."""
    if not command.strip():
        return Unparseable("no command", "empty")
    if "\0" in command:
        return Unparseable("a NUL character", "nul")
    try:
        size = len(command.encode())
    except UnicodeEncodeError:
        return Unparseable("half a surrogate pair", "not_unicode")
    if size > LONGEST_BYTES:
        return Unparseable(f"{size} bytes; at most {LONGEST_BYTES}", "too_long")
    signs = command if _UNSURE.search(command) else _QUOTED.sub("", command)
    if signs.count("|") + signs.count("&") > _MOST_OPERATORS:
        return too_deep()
    return None
