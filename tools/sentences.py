"""The English that a user reads, as sentences: of docs, of the commands' help, and of messages.

- Docs: paragraphs, list items and table cells of README.md and docs/**/*.md; no blocks of
  code, and not the changelog, which names what things were called before.
- Help: what `--help` prints of each command, and of each of its options.
- Messages: every literal in the packages that reads as English (`MESSAGE_WORDS` words or more
  in a row). Docstrings and SQL are none.

Code (between backticks, or a field of an f-string) stays visible in a sentence's text.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import click
from markdown_it import MarkdownIt
from markdown_it.token import Token

from failproof_es.cli.app.command_table import main

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("failproof_es", "projections")
NO_MESSAGES = frozenset(
    {
        "tools/command_reference.py",  # written into docs/, and measured there
        "tools/configuration_reference.py",
        "failproof_es/dialects/kit/judging/absence.py",  # lists of words
        "failproof_es/shell_analysis/safety/rules/containers.py",
    }
)

MESSAGE_WORDS = 4
"""So many words of letters in a row make a literal a message."""

_NO_MESSAGE_ARGUMENTS = frozenset(
    {"help", "short_help", "epilog", "metavar", "pattern", "description", "flags"}
)
_SQL = re.compile(
    r"\s*(--|(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|GRANT|REVOKE|WITH|DROP|FROM|WHERE|ORDER|AND|LOCK"
    r"|SET|JOIN|CALL|COPY|VALUES|DECLARE|FETCH|TRUNCATE)\b)"
)
_ENGLISH = re.compile(rf"(?:\b[A-Za-z][a-z'-]*[,:;]?\s+){{{MESSAGE_WORDS - 1},}}[A-Za-z][a-z'-]+\b")
_SMALL_WORD = re.compile(
    r"\b(an?|and|are|as|at|be|but|by|for|from|has|have|in|is|it|no|not|nothing|of|on|or|the|there|this|to"
    r"|was|what|where|with)\b"
)
_CODE = re.compile(r"`[^`]*`")
_END = re.compile(
    r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!vs\.)(?<!Art\.)[\"')*\]]*\s+(?=[A-Z0-9\"'(\[*`\0]|--[a-z])"
)


@dataclass(frozen=True)
class Sentence:
    """One sentence, and where it stands: a path from the root, a line from 1."""

    group: str
    path: str
    line: int
    text: str

    @cached_property
    def prose(self) -> str:
        """The sentence with `code` in the place of all code."""
        return _CODE.sub("`code`", self.text)


def of_docs() -> Iterator[Sentence]:
    """The sentences of README.md and of every page below docs/; the changelog keeps its words."""
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        if path.name == "CHANGELOG.md":
            continue
        yield from of_markdown(path.read_text("utf-8"), path.relative_to(ROOT).as_posix())


def of_markdown(text: str, path: str) -> Iterator[Sentence]:
    """The sentences of a Markdown text; link targets, blocks of code and HTML are left out."""
    line = 1
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.map is not None:
            line = token.map[0] + 1
        if token.type == "inline":
            yield from _split("docs", path, line, "".join(map(_shown, token.children or [])))


def _shown(token: Token) -> str:
    match token.type:
        case "text":
            return token.content
        case "code_inline":
            return f"`{token.content}`"
        case "softbreak" | "hardbreak":
            return "\n"
        case _:
            return ""


def of_help() -> Iterator[Sentence]:
    """The sentences of the program's help: of the commands, their options, and what ends a page."""
    seen: set[tuple[str, str]] = set()
    for command in _commands(main):
        path, line = _source(command)
        texts = [command.help, command.short_help, command.epilog]
        texts += [each.help for each in command.params if isinstance(each, click.Option)]
        for text in filter(None, texts):
            for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
                if paragraph.startswith("\b") or (path, paragraph) in seen:
                    continue
                seen.add((path, paragraph))
                for each in _split("help", path, line, paragraph):
                    yield Sentence("help", path, line, each.text)


def _commands(command: click.Command) -> Iterator[click.Command]:
    yield command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _commands(inner)


def _source(command: click.Command) -> tuple[str, int]:
    function = inspect.unwrap(command.callback) if command.callback is not None else None
    code = getattr(function, "__code__", None)
    if code is None:
        return "failproof_es/cli", 1
    return Path(code.co_filename).resolve().relative_to(ROOT).as_posix(), code.co_firstlineno


def of_messages() -> Iterator[Sentence]:
    """The sentences that the packages' literals hold."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if name not in NO_MESSAGES:
                yield from of_python(path.read_text("utf-8"), name)


def of_python(text: str, path: str) -> Iterator[Sentence]:
    """The sentences of a module's literals that are English and no docstring, help or SQL."""
    for node in _literals(ast.parse(text)):
        said = _said(node)
        prose = _CODE.sub(" ` ", said)
        if _ENGLISH.search(prose) and _SMALL_WORD.search(prose) and not _SQL.match(said):
            for each in _split("messages", path, node.lineno, said):
                yield Sentence("messages", path, node.lineno, each.text)


def _literals(node: ast.AST) -> Iterator[ast.Constant | ast.JoinedStr]:
    """The literals below a node; none of docstrings, types and arguments that are no messages."""
    match node:
        case ast.Expr(value=ast.Constant()) | ast.Subscript(value=ast.Name(id="Literal")):
            return
        case ast.keyword(arg=str(name)) if name in _NO_MESSAGE_ARGUMENTS:
            return
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re" | "regex"))):
            return
        case ast.JoinedStr():
            yield node
            for field in node.values:
                if isinstance(field, ast.FormattedValue):
                    yield from _literals(field.value)
        case ast.Constant(value=str()):
            yield node
        case _:
            for inner in ast.iter_child_nodes(node):
                yield from _literals(inner)


def _said(node: ast.Constant | ast.JoinedStr) -> str:
    """A literal's text, each field of an f-string as `{its expression}` between backticks."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    text = "".join(
        str(each.value)
        if isinstance(each, ast.Constant)
        else "\0{" + ast.unparse(each.value).replace("`", "") + "}\0"
        for each in node.values
        if isinstance(each, ast.Constant | ast.FormattedValue)
    )
    within = text.split("`")  # a field within backticks is code already
    within[1::2] = [each.replace("\0", "") for each in within[1::2]]
    return "`".join(within).replace("\0", "`")


def _split(group: str, path: str, line: int, text: str) -> Iterator[Sentence]:
    """The sentences of a paragraph. A semicolon or a colon ends none."""
    code: list[str] = []

    def hide(found: re.Match[str]) -> str:
        code.append(found[0])
        return f"\0{len(code) - 1}\0"

    hidden = _CODE.sub(hide, text)
    start = 0
    for end in [*(found.end() for found in _END.finditer(hidden)), len(hidden)]:
        piece = hidden[start:end]
        shown = re.sub(r"\0(\d+)\0", lambda found: code[int(found[1])], piece)
        if shown.strip():
            lead = len(piece) - len(piece.lstrip())
            at = line + hidden.count("\n", 0, start + lead)
            yield Sentence(group, path, at, " ".join(shown.split()))
        start = end
