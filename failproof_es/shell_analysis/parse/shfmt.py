"""Reads many commands in one process of `shfmt`, each as if it were alone.

shfmt writes a tree only of its standard input. So the commands of a batch are written below each
other, with a line `:` after each:

    ls -l
    :
    echo 'it is
    :
    if'

The tree of a command counts only if shfmt found the `:` before it and the `:` after it, each as a
top-level statement at the byte where it was written. Then shfmt was between two statements when
the command began and when it ended, as at the beginning and the end of a text. A command that
swallows the text after it (an open quote, an `if` without `fi`) swallows its `:`, too. A command
without a certain tree is read in a process of its own, so that the message of a refusal is always
about the command alone.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal

import orjson

from failproof_es.shell_analysis.errors import ProgramTooSlow, Unparseable
from failproof_es.shell_analysis.parse import programs

Language = Literal["bash", "posix"]
Node = dict[str, Any]

_LINE = "\n:\n"
"""Written after each command of a batch."""
_SECONDS = 20.0
"""Wall-clock limit of a batch. After it each command is read alone, with the usual limit."""
_LONGEST = 1024
_MOST = 8192
"""Most characters of a command in a batch, and of a whole batch: a tree in memory can be a
thousand times as large."""
_MOST_SIGNS = 50
_SIGNS = re.compile(r"[|&({]")
"""Signs that nest. A command with many of these, or a long one, costs more than a process."""
_UNLIKELY = {
    "bash": re.compile(r"<[\w ./-]+>"),
    "posix": re.compile(r"<[\w ./-]+>|[<>=]\(|\[\[ |(?<!\$)\(\(|&>|\|&|\bfunction "),
}
"""Constructs that are mostly refused: `<name>`, and bash's own in POSIX. An error costs a batch
three processes and a text alone costs one, so such a text is read alone; nothing else changes."""
_DEEPEST = 250
"""Most levels of the JSON tree, about 25 nested substitutions: tree walkers may recurse, and
orjson writes at most 254 levels."""
_TOO_DEEP = b"\n" + b"\t" * _DEEPEST
"""The beginning of a line of shfmt's JSON at this depth. JSON strings have no line feed."""
_POSITION = re.compile(rb'"Offset":(\d+),"Line":(\d+),')
"""A position in our own JSON of a tree. JSON strings have no `"` without a backslash."""
_ERROR = re.compile(rb"(?:<standard input>:)?(\d+):\d+: ")


class Unread(Unparseable):
    """The refusal of a text on which shfmt was stopped or crashed.

    That says nothing about the text, so it is not cached.
    """


@dataclass(slots=True)
class Tree:
    """The syntax tree of a command (a `File` node) as JSON, a tenth of the size of Python
    objects."""

    json: bytes
    offset: int = 0
    line: int = 0
    """Bytes and lines before the command in the input that `json` was made from."""

    def file(self) -> Node:
        """A new copy of the tree, with positions relative to the command."""
        if self.offset:
            self.json, self.offset, self.line = _POSITION.sub(self._shift_position, self.json), 0, 0
        tree: Node = orjson.loads(self.json)
        return tree

    def _shift_position(self, match: re.Match[bytes]) -> bytes:
        offset, line = int(match[1]) - self.offset, int(match[2]) - self.line
        return b'"Offset":%d,"Line":%d,' % (offset, line)


def too_deep() -> Unparseable:
    return Unparseable("constructs in each other, too deep to judge", "too_deep")


def read(texts: Sequence[str], language: Language) -> list[Tree | Unparseable]:
    """For each text its syntax tree, or why it has none, in order.

    A text must not be blank or longer than `shell.LONGEST_BYTES`, or hold a NUL character or half a
    surrogate pair. Raises `ProgramMissing` without `shfmt`.
    """
    outcomes: dict[int, Tree | Unparseable] = {}
    waiting = deque(at for at, text in enumerate(texts) if _may_share(text, language))
    size = len(waiting)
    while waiting:
        group = _next_group(waiting, texts, size)
        if len(group) == 1:
            outcomes[group[0]] = alone = _alone(texts[group[0]], language)
            size = 2 if isinstance(alone, Tree) else 1
            continue
        answers = _read_together([texts[at] for at in group], language)
        if isinstance(answers, int):
            # The text with the error is read alone, those before it together.
            waiting.extendleft(reversed(group[:answers] + group[answers + 1 :]))
            size = answers or len(group) // 2  # if all are wrong, each is soon read alone
            continue
        size = 2 * len(group)
        outcomes |= {at: tree for at, tree in zip(group, answers, strict=True) if tree is not None}
    return [
        outcomes[at] if at in outcomes else _alone(text, language) for at, text in enumerate(texts)
    ]


def _next_group(waiting: deque[int], texts: Sequence[str], most: int) -> list[int]:
    group = [waiting.popleft()]
    room = _MOST - len(texts[group[0]])
    while waiting and len(group) < most and (room := room - len(texts[waiting[0]])) >= 0:
        group.append(waiting.popleft())
    return group


def _alone(text: str, language: Language) -> Tree | Unparseable:
    try:
        done = programs.run("shfmt", "-ln", language, "--to-json", text=text)
    except ProgramTooSlow as error:
        return Unread(str(error), "too_slow")
    if done.returncode != 0:
        message = done.stderr.decode(errors="replace").strip()
        if not message:
            return Unread(f"shfmt ended {done.returncode}")
        return Unparseable(message.splitlines()[0].removeprefix("<standard input>:"))
    try:
        tree = orjson.loads(done.stdout)
    except orjson.JSONDecodeError:
        return too_deep()
    if not tree.get("Stmts"):
        if tree.get("Last"):
            return Unparseable("nothing but a comment", "only_comment")
        return Unparseable("no command", "empty")
    may_be_deep = _TOO_DEEP in done.stdout or not done.stdout.startswith(b"{\n\t")
    if may_be_deep and _depth(tree) > _DEEPEST:
        return too_deep()
    return Tree(orjson.dumps(tree))


def _may_share(text: str, language: Language) -> bool:
    """Whether a text may be read in a batch.

    A line feed after the text must mean the same as its end: so no backslash at the end, no
    carriage return and no here-document. The other conditions keep a batch cheap.
    """
    return (
        len(text) <= _LONGEST
        and not text.endswith("\\")
        and "\r" not in text
        and "<<" not in text.replace("\\\n", "")
        and len(_SIGNS.findall(text)) <= _MOST_SIGNS
        and not _UNLIKELY[language].search(text)
    )


def _read_together(texts: Sequence[str], language: Language) -> list[Tree | None] | int:
    """The tree of each text, from one process; `None` for a text that must be read alone.

    If a text has a syntax error, only the index of the first such text.
    """
    sources = [text.encode() + _LINE.encode() for text in texts]
    ends = list(accumulate(len(source) for source in sources))
    lines = list(accumulate((source.count(b"\n") for source in sources), initial=0))
    nothing: list[Tree | None] = [None] * len(texts)
    try:
        text = "".join(text + _LINE for text in texts)
        done = programs.run("shfmt", "-ln", language, "--to-json", text=text, seconds=_SECONDS)
    except ProgramTooSlow:
        return nothing
    if done.returncode != 0:
        error = _ERROR.match(done.stderr)
        return bisect_right(lines[:-1], int(error[1]) - 1) - 1 if error else nothing
    if _TOO_DEEP in done.stdout or not done.stdout.startswith(b"{\n\t"):
        return nothing
    try:
        statements = orjson.loads(done.stdout).get("Stmts") or []
    except orjson.JSONDecodeError:
        return nothing
    trees = _split_trees(statements, [end - len(":\n") for end in ends])
    return [
        None if tree is None else Tree(tree, end - len(source), line)
        for tree, end, source, line in zip(trees, ends, sources, lines, strict=False)
    ]


def _split_trees(statements: Sequence[Node], places: Sequence[int]) -> list[bytes | None]:
    """The JSON tree of each text of a batch, from the statements of the whole batch.

    `places` are the offsets of the `:` after each text, in order. `None` unless that `:` and the
    one before are found.
    """
    trees: list[bytes | None] = []
    own: list[Node] = []
    is_clean = True
    for statement in statements:
        offset = statement["Pos"].get("Offset", 0)
        while offset > places[len(trees)]:  # a construct swallowed the `:` there
            trees.append(None)
            own, is_clean = [], False
        if offset < places[len(trees)]:
            own.append(statement)
            continue
        is_ours = _is_one_byte(statement)
        trees.append(
            _file_json(own) if is_clean and is_ours and "Comments" not in statement else None
        )
        own, is_clean = [], is_ours
    return trees + [None] * (len(places) - len(trees))


def _is_one_byte(statement: Node) -> bool:
    """Whether a statement is a simple command of one byte. It may have a comment before it."""
    length = statement["End"]["Offset"] - statement["Pos"]["Offset"]
    return length == 1 and (statement.get("Cmd") or {}).get("Type") == "CallExpr"


def _file_json(statements: Sequence[Node]) -> bytes | None:
    """The JSON tree of a text with these statements.

    `None` if it has a comment at its start or end, or no statement: it must be read alone.
    """
    if not statements or "Comments" in statements[0] or "Comments" in statements[-1]:
        return None
    first, last = statements[0]["Pos"], statements[-1]["End"]
    return orjson.dumps({"Type": "File", "Pos": first, "End": last, "Stmts": statements})


def _depth(tree: Node) -> int:
    deepest = 0
    pending: list[tuple[Any, int]] = [(tree, 1)]
    while pending:
        node, depth = pending.pop()
        deepest = max(deepest, depth)
        children = node.values() if isinstance(node, dict) else node
        pending += [(child, depth + 1) for child in children if isinstance(child, dict | list)]
    return deepest
