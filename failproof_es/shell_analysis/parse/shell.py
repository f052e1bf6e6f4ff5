"""Parses shell text into a syntax tree; nothing here runs a command.

The parser is `shfmt`: it agrees with `bash -n` about what is shell. Its typed JSON is the
tree that the checkers read: nodes are dictionaries, `Type` names the kind where several
kinds are possible, `Pos.Offset` and `End.Offset` count bytes of the UTF-8 command.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import orjson

from failproof_es.shell_analysis.errors import ProgramTooSlow, Unparseable
from failproof_es.shell_analysis.parse import programs

Language = Literal["bash", "posix"]
Node = dict[str, Any]

LONGEST_BYTES = 4096
_MOST_OPERATORS = 500
"""`|` and `&` in one command, but for those that are certainly quoted. shfmt writes a tree that is
as deep as they are many, and takes the square of that in time and memory: 2,000 would be 400 MB."""
_QUOTED = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*\"""", re.DOTALL)
_UNSURE = re.compile(r"[#`]|<<|\$['({]")
"""Where one of these stands, what is quoted can't be told without a parser."""
_DEEPEST = 250
"""Levels of the JSON tree, some 25 substitutions in each other: walkers may recurse, and
orjson writes no more than 254 levels."""


@dataclass(frozen=True, slots=True)
class Script:
    """A command and its syntax tree (a `File` node of shfmt's typed JSON).

    Every call to `parse_command` gives a tree of its own; a caller may change it.
    """

    command: str
    tree: Node


def parse_command(command: str, language: Language = "bash") -> Script:
    """The command's syntax tree. Raises `Unparseable`; `ProgramMissing` without `shfmt`."""
    read = _read(command, language)
    if isinstance(read, Unparseable):
        raise Unparseable(read.reason, read.code)
    return Script(command, orjson.loads(read))


def parse_commands(
    commands: Iterable[str], language: Language = "bash"
) -> list[Script | Unparseable]:
    """`parse_command` for each command, in order, as many processes at once as there are cores."""

    def attempt(command: str) -> Script | Unparseable:
        try:
            return parse_command(command, language)
        except Unparseable as error:
            return error

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(attempt, commands))


def tool_version() -> str:
    """Which parser reads the commands, such as `shfmt-3.10.0`."""
    return f"shfmt-{programs.version('shfmt')}"


@lru_cache(maxsize=1024)
def _read(command: str, language: Language) -> bytes | Unparseable:
    """shfmt's JSON, or why there is none. Kept as text: a tree is ten times as large."""
    if refusal := _refusal(command):
        return refusal
    try:
        done = programs.run("shfmt", "-ln", language, "--to-json", text=command)
    except ProgramTooSlow as error:
        return Unparseable(str(error), "too_slow")
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip() or f"shfmt ended {done.returncode}"
        return Unparseable(said.splitlines()[0].removeprefix("<standard input>:"))
    try:
        tree = orjson.loads(done.stdout)
    except orjson.JSONDecodeError:
        return _too_deep()
    if not tree.get("Stmts"):
        if tree.get("Last"):
            return Unparseable("nothing but a comment", "only_comment")
        return Unparseable("no command", "empty")
    return orjson.dumps(tree) if _depth(tree) <= _DEEPEST else _too_deep()


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
        return _too_deep()
    return None


def _too_deep() -> Unparseable:
    return Unparseable("constructs in each other, too deep to judge", "too_deep")


def _depth(tree: Node) -> int:
    deepest = 0
    pending: list[tuple[Any, int]] = [(tree, 1)]
    while pending:
        node, depth = pending.pop()
        deepest = max(deepest, depth)
        children = node.values() if isinstance(node, dict) else node
        pending += [(each, depth + 1) for each in children if isinstance(each, dict | list)]
    return deepest
