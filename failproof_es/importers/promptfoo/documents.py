"""Reads the files of a promptfoo configuration: YAML, JSON, CSV, text. Code is not read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from failproof_es.configuration.locations import Location, dotted
from failproof_es.configuration.yaml_tree import YamlTree, parse_yaml
from failproof_es.importers.protocol import Place
from failproof_es.importers.rows import read_json_lines, read_texts
from failproof_es.importers.source import MAX_TEXT_BYTES, OutsideSource, Source
from failproof_es.importers.tests_alone import CONFIGURATION_NAMES, tests_alone
from failproof_es.problems import InvalidInput, Problem, Problems

_FILE = "file://"
_CODE = frozenset({".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".py", ".rb", ".go", ".sh"})
_DATA = frozenset({".yaml", ".yml", ".json"})
_TABLES = frozenset({".csv", ".jsonl"})
TEXT = frozenset({".txt", ".md", ".j2", ".jinja", ".njk", ".html", ".xml"})


class NotRead(Exception):
    """A reference is not followed. `str` is the reason, `subject` the reference."""

    def __init__(self, reason: str, subject: str | None = None) -> None:
        super().__init__(reason)
        self.subject = subject


@dataclass(frozen=True, slots=True)
class DocumentNode:
    """A value in a file, with its place.

    `tree` is the file's YAML, in which `at` is the path to the value. A row of a table has no tree,
    but a `line`.
    """

    value: Any
    path: Path
    display_path: str
    tree: YamlTree | None = None
    at: Location = ()
    line: int | None = None

    def place(self, *steps: str | int) -> Place:
        """The place of a part of the value, for messages.

        `steps` are the keys that lead to the part.
        """
        location = (*self.at, *steps)
        line = self.line if self.tree is None else self.tree.line_of(location)
        return Place(self.display_path, line, dotted(location) or None)

    def part(self, *steps: str | int, value: Any) -> DocumentNode:
        """The node of a part of the value; `steps` are the keys that lead to the part."""
        at = (*self.at, *steps)
        return DocumentNode(value, self.path, self.display_path, self.tree, at, self.line)


def read_configuration(source: Source) -> DocumentNode:
    """The configuration in the source, a file or its folder.

    Raises `InvalidInput` if there is none, if it is code, or if it is not a YAML mapping.
    """
    path = source.path
    if path.is_dir():
        path = next((path / name for name in CONFIGURATION_NAMES if (path / name).is_file()), path)
        if path.is_dir():
            remedy = f"name the file; its folder would hold one of {', '.join(CONFIGURATION_NAMES)}"
            raise InvalidInput(
                [Problem("file-not-found", "holds no configuration", path, remedy=remedy)]
            )
    if path.suffix.lower() in _CODE:
        remedy = "write what it returns as YAML or JSON, and import that file"
        raise InvalidInput(
            [Problem("wrong-file-kind", "is code, which is not run", path, remedy=remedy)]
        )
    if path.suffix.lower() in _TABLES:
        raise tests_alone(path, "")
    document = _read_data(source, path)
    if isinstance(document.value, list):
        raise tests_alone(path, ": it is not a mapping")
    if not isinstance(document.value, dict):
        raise InvalidInput(
            [
                Problem(
                    "not-a-configuration",
                    "is no promptfoo configuration: it is not a mapping",
                    path,
                )
            ]
        )
    return document


def is_reference(value: Any) -> bool:
    """Whether the value is a reference to a file (`file://`)."""
    return isinstance(value, str) and value.startswith(_FILE)


def referred(source: Source, value: str, base: Path) -> list[Path]:
    """The files that a reference names: one, or several with `*`.

    A relative path starts from the folder `base`. Raises `NotRead` if the reference is to code, to
    a missing file, or out of the source's folder.
    """
    target = value.removeprefix(_FILE)
    stem, _, function = target.rpartition(":")
    suffix = Path(stem if stem and "/" not in function else target).suffix.lower()
    if suffix in _CODE:
        raise NotRead("is code: it is not run", value)
    try:
        if "*" in target:
            return source.matching(target, base)
        return [source.within(target, base)]
    except OutsideSource as error:
        raise NotRead(str(error), value) from None


def read_text(source: Source, path: Path) -> str:
    """The text of a file, with LF line ends.

    Raises `InvalidInput` if it is too large or not UTF-8.
    """
    return source.text(path).replace("\r\n", "\n")


def read_data(source: Source, path: Path) -> list[DocumentNode]:
    """The nodes of a data file: the rows of a table, or its one value.

    Raises `NotRead` if the suffix is not of a data file, and `InvalidInput` if the file is
    malformed.
    """
    suffix = path.suffix.lower()
    if suffix in _DATA:
        return [_read_data(source, path)]
    if suffix in _TABLES:
        source.check(path, MAX_TEXT_BYTES)
        rows = (read_texts if suffix == ".csv" else read_json_lines)(source, path)
        return [
            DocumentNode(record, path, place.path, line=place.line)
            for place, record in rows.read(rows.names)
        ]
    raise NotRead("is of a kind that is not read", path.name)


def _read_data(source: Source, path: Path) -> DocumentNode:
    display_path = source.display_path(path)
    problems = Problems()
    tree = parse_yaml(Path(display_path), source.text(path), problems)
    problems.raise_errors()
    assert tree is not None
    return DocumentNode(tree.value, path, display_path, tree)
