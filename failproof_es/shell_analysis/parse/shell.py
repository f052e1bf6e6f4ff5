"""Parses shell text into a syntax tree; nothing here runs a command.

The parser is `shfmt`: it agrees with `bash -n` about what is shell. Its typed JSON is the
tree that the checkers read: nodes are dictionaries, `Type` names the kind where several
kinds are possible, `Pos.Offset` and `End.Offset` count bytes of the UTF-8 command.
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
"""`|` and `&` in one command, but for those that are certainly quoted. shfmt writes a tree that is
as deep as they are many, and takes the square of that in time and memory: 2,000 would be 400 MB."""
_QUOTED = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*\"""", re.DOTALL)
_UNSURE = re.compile(r"[#`]|<<|\$['({]")
"""Where one of these stands, what is quoted can't be told without a parser."""


@dataclass(frozen=True, slots=True)
class Script:
    """A command and its syntax tree (a `File` node of shfmt's typed JSON).

    Every call to `parse_command` gives a tree of its own; a caller may change it.
    """

    command: str
    tree: Node


def parse_command(command: str, language: Language = "bash") -> Script:
    """The command's syntax tree. Raises `Unparseable`; `ProgramMissing` without `shfmt`."""
    (read,) = _read_trees([command], language)
    if isinstance(read, Unparseable):
        raise Unparseable(read.reason, read.code)
    return Script(command, read.file())


def parse_commands(
    commands: Iterable[str], language: Language = "bash"
) -> list[Script | Unparseable]:
    """`parse_command` for each command, in order: many in one process, and one for each core.

    A command that ends or delays the parser is read again alone, and so are those beside it.
    """
    texts = list(commands)
    return [
        Unparseable(read.reason, read.code)
        if isinstance(read, Unparseable)
        else Script(command, read.file())
        for command, read in zip(texts, _read_trees(texts, language), strict=True)
    ]


def refusals(commands: Sequence[str], language: Language = "bash") -> list[Unparseable | None]:
    """Why each command cannot be parsed, `None` for those that can. Makes no trees."""
    read = _read_trees(commands, language)
    return [outcome if isinstance(outcome, Unparseable) else None for outcome in read]


def tool_version() -> str:
    """Which parser reads the commands, such as `shfmt-3.10.0`."""
    return f"shfmt-{programs.version('shfmt')}"


def _read_trees(commands: Sequence[str], language: Language) -> list[Tree | Unparseable]:
    """Each command's tree, or why it has none."""
    outcomes: list[Tree | Unparseable | None] = [_refusal(command) for command in commands]
    texts = [text for text, refusal in zip(commands, outcomes, strict=True) if refusal is None]
    if texts:
        programs.locate("shfmt")  # an answer that is remembered is none without the program
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
    """What keeps a text from being given to the parser at all."""
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
