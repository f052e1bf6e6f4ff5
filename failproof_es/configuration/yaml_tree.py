"""Parses YAML to plain values with the line of each, and reports all defects at once.

It reads only what a configuration needs: YAML 1.2 mappings, lists and scalars. Anchors, aliases
and tags are refused, so no object is constructed and no small file expands to a huge one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    NodeEvent,
)
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from failproof_es.configuration.locations import Location, dotted
from failproof_es.problems import Problems, unreadable_problem

_LARGEST = 1_000_000
_CASES = frozenset({".jsonl", ".ndjson", ".csv", ".tsv"})
DEEPEST = 50
_INDICATOR = re.compile(r"(?:^|[:,\[{-])\s*[*&!%@`]")
"""A value that begins with a character that has a meaning in YAML."""
_IN_QUOTES = "put the text in quotes; write out what an alias or a tag stands for"
_MOST_DIGITS = 100
"""Digits of a whole number in any notation. Python converts and writes no longer numbers."""


FROM_SETTING = Path("--set")
"""The path of a problem with a value from the command line."""


@dataclass(slots=True)
class YamlTree:
    """The values of a YAML text, with the line of each."""

    value: Any = None
    lines: dict[Location, int] = field(default_factory=dict)
    overridden: set[Location] = field(default_factory=set)
    """The locations set on the command line."""
    quoting: bool = True
    """Whether errors may quote the values."""

    def line_of(self, location: Location) -> int | None:
        """The line (from 1) of the value at `location`, or of the nearest one that contains it.

        `None` if no line is known.
        """
        for length in range(len(location), -1, -1):
            if (line := self.lines.get(location[:length])) is not None:
                return line
        return None

    def place_of(self, location: Location, path: Path) -> tuple[Path, int | None]:
        """The file and the line of a value; `--set` and `None` for a value from the command line.

        `path` is the file of the tree.
        """
        if any(location[: len(overridden)] == overridden for overridden in self.overridden):
            return FROM_SETTING, None
        return path, self.line_of(location)


def read_yaml(
    path: Path, problems: Problems, *, largest: int = _LARGEST, quoting: bool = True
) -> YamlTree | None:
    """The file's content, or `None` with the errors in `problems`.

    A file of more than `largest` bytes is an error. With `quoting=False` no error quotes the
    content: for a file that the reader of the error may not be allowed to see.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(largest + 1)
    except IsADirectoryError:
        problems.error(
            "not-a-file", "is a folder, not a file", path=path, remedy="name a file in it"
        )
        return None
    except OSError as error:
        problems.problems.append(unreadable_problem(path, error))
        return None
    if path.suffix.lower() in _CASES:  # a single line of JSON would parse as YAML
        remedy = "name it under `prompts.path` of a configuration, or see `failproof-es import`"
        problems.error("not-yaml", "is a file of cases, not YAML", path=path, remedy=remedy)
        return None
    if len(raw) > largest:
        message = f"is larger than {largest} bytes"
        remedy = "shorten it; cases may be in several files"
        problems.error("file-too-large", message, path=path, remedy=remedy)
        return None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        problems.error("not-utf8", "is not UTF-8", path=path, line=line, remedy="save it as UTF-8")
        return None
    return parse_yaml(path, text, problems, quoting=quoting)


def parse_yaml(
    path: Path, text: str, problems: Problems, *, quoting: bool = True
) -> YamlTree | None:
    """The content of a YAML text, or `None` with the errors in `problems`, reported for `path`.

    With `quoting=False` no error quotes the text.
    """
    before = len(problems.errors)
    try:
        depth = 0
        for event in _create_parser().parse(text):
            depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
            if depth > DEEPEST:
                line = event.start_mark.line + 1
                problems.error("nested-too-deeply", "is nested too deeply", path=path, line=line)
                return None
            _refuse_references(path, event, problems)
        if len(problems.errors) > before:
            return None
        root = _create_parser().compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark
        where = f", column {mark.column + 1}" if mark else ""
        line = mark.line + 1 if mark else None
        why = f": {error.problem}" if quoting else ""
        remedy = _remedy(text, line)
        problems.error("not-yaml", f"is not YAML{why}{where}", path=path, line=line, remedy=remedy)
        return None
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        why = f": it holds the character U+{error.character:04X}" if quoting else ""
        remedy = "remove it, or write it as an escape in double quotes"
        problems.error("not-yaml", f"is not YAML{why}", path=path, line=line, remedy=remedy)
        return None
    except (YAMLError, ValueError) as error:
        why = f": {error}" if quoting else ""
        problems.error("not-yaml", f"is not YAML{why}", path=path)
        return None
    if root is None:
        problems.error("empty-file", "is empty", path=path, remedy="see configs/quickstart.yaml")
        return None
    tree = YamlTree(quoting=quoting)
    tree.value = _read_node(path, root, (), tree, problems)
    return tree


def _remedy(text: str, line: int | None) -> str:
    """The remedy for a text that is not YAML, without a quotation of the text.

    `line` is the line of the error, from 1; `None` if it is unknown.
    """
    at_fault = text.splitlines()[line - 1 : line] if line else []
    if any(
        "\t" in source_line[: len(source_line) - len(source_line.lstrip())]
        for source_line in at_fault
    ):
        return "a tab indents this line: indent with spaces"
    if any(_INDICATOR.search(source_line) for source_line in at_fault):
        return _IN_QUOTES
    return "check the indentation, quotes and brackets here and in the line above"


def _create_parser() -> YAML:
    return YAML(typ="safe", pure=True)


def _refuse_references(path: Path, event: Any, problems: Problems) -> None:
    line = event.start_mark.line + 1

    def refuse(construct: str, remedy: str = _IN_QUOTES) -> None:
        message = f"{construct} are not supported"
        problems.error("unsupported-yaml", message, path=path, line=line, remedy=remedy)

    if isinstance(event, DocumentStartEvent) and (event.version or (1, 2)) != (1, 2):
        refuse("directives of another version than YAML 1.2", "remove the line with %YAML")
    elif isinstance(event, AliasEvent):
        refuse("aliases (*name)")
    elif isinstance(event, NodeEvent):
        if event.anchor:
            refuse("anchors (&name)")
        implicit = getattr(event, "implicit", True)
        if not (any(implicit) if isinstance(implicit, tuple) else implicit):
            refuse("tags (!name)")


def _read_node(path: Path, node: Node, at: Location, tree: YamlTree, problems: Problems) -> Any:
    tree.lines.setdefault(at, node.start_mark.line + 1)
    if isinstance(node, MappingNode):
        return _read_mapping(path, node, at, tree, problems)
    if isinstance(node, SequenceNode):
        return [_read_node(path, n, (*at, i), tree, problems) for i, n in enumerate(node.value)]
    if isinstance(node, ScalarNode):
        try:
            return _read_scalar(node)
        except OverflowError:
            problems.error(
                "out-of-range", f"is a number of more than {_MOST_DIGITS} digits",
                path=path, line=node.start_mark.line + 1,
                field=dotted(at) if tree.quoting else None, remedy="write it in quotes",
            )  # fmt: skip
        except ValueError:  # tagged as a number, but Python can't parse it
            pass
        return _join_halves(str(node.value))
    raise TypeError(f"{type(node).__name__} is not YAML this reader knows")


def _read_mapping(
    path: Path, node: MappingNode, at: Location, tree: YamlTree, problems: Problems
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, ScalarNode):
            problems.error("unsupported-yaml", "a key must be a plain word", path=path, line=line)
            continue
        key = _join_halves(str(key_node.value))
        if key in values:
            first = tree.lines[(*at, key)]
            field = dotted((*at, key)) if tree.quoting else None
            problems.error(
                "duplicate-field",
                f"{'the' if tree.quoting else 'a'} key appears twice, first in line {first}",
                path=path, line=line, field=field, remedy="keep one of them",
            )  # fmt: skip
            continue
        tree.lines[(*at, key)] = line
        values[key] = _read_node(path, value_node, (*at, key), tree, problems)
    return values


def _join_halves(text: str) -> str:
    """The text with a character for each surrogate pair, as JSON escapes it; a half is left."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _read_scalar(node: ScalarNode) -> Any:
    text = _join_halves(str(node.value))
    match str(node.tag).rsplit(":", 1)[-1]:
        case "null":
            return None
        case "bool":
            return text.lower() == "true"
        case "int":
            digits = text.replace("_", "")
            if len(digits) > _MOST_DIGITS:
                raise OverflowError
            return int(digits, 0 if digits.lower().startswith(("0x", "0o")) else 10)
        case "float":
            return float(text.replace("_", "").replace(".inf", "inf").replace(".nan", "nan"))
        case _:
            return text  # a date, too, stays text
