"""Reads the three formats of case files: JSON lines, one JSON object, and YAML.

All three are read with the strictness of `json_lines`: YAML may only contain values that JSON can.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from failproof_es.dialects.kit.file_shapes import shape_of_json
from failproof_es.dialects.kit.json_lines import (
    MAX_LINE_BYTES,
    Defect,
    parse_object,
    read_objects,
)
from failproof_es.dialects.kit.yaml_documents import Location, YamlTree, parse_yaml, read_yaml
from failproof_es.problems import Problems

SUFFIXES = (".jsonl", ".json", ".yaml", ".yml")
_LOOKED_AT = 65_536
_MARKS = ("expected_behavior", "severity_expectation")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class WrittenCase:
    """A case as in its file, with its place.

    `line` is its first line. `tree` has the lines of its values; `None` in JSON lines, where all
    are on one line.
    """

    document: dict[str, Any]
    line: int
    tree: YamlTree | None = None
    at: Location = ()
    """The location of the case in the tree."""

    def line_of(self, location: Location) -> int:
        """The line of the value at `location` in the case, or of the nearest value around it."""
        within = None if self.tree is None else self.tree.line_of((*self.at, *location))
        return within or self.line


def looks_like_ours(path: Path) -> bool:
    """Whether the file's first 64 KiB have a key that only specification 002 has.

    `False` for other suffixes than `SUFFIXES`, and for a file that can't be read.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        return False
    try:
        with path.open("rb") as stream:
            head = stream.read(_LOOKED_AT).decode("utf-8", "replace")
    except OSError:
        return False
    if suffix in (".yaml", ".yml"):
        lines = [line.lstrip(" -") for line in head.splitlines()]
        return any(line.startswith(f"{mark}:") for line in lines for mark in _MARKS)
    return any(f'"{mark}"' in head for mark in _MARKS)


def read_cases(path: Path, problems: Problems) -> Iterator[WrittenCase]:
    """Every case of the file that is a JSON object; every defect goes to `problems`.

    The cases are not validated.
    """
    match path.suffix.lower():
        case ".json":
            yield from _one_object(path, problems)
        case ".yaml" | ".yml":
            yield from _yaml(path, problems)
        case _:
            for line, document in read_objects(path, problems):
                yield WrittenCase(document, line)


def _one_object(path: Path, problems: Problems) -> Iterator[WrittenCase]:
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_LINE_BYTES + 1).removeprefix(_BOM)
    except OSError as error:
        problems.error(
            "file-unreadable", f"the file can't be read: {error.strerror or error}", path=path
        )
        return
    if len(raw) > MAX_LINE_BYTES:
        problems.error(
            "file-too-large", f"the file is longer than {MAX_LINE_BYTES // 1024**2} MiB", path=path
        )
        return
    try:
        document = parse_object(raw, "file")
    except Defect as defect:
        if raw.lstrip()[:1] == b"[" and (shape := shape_of_json(raw)):
            problems.error(
                "foreign-format", shape[0], path=path, remedy=f"{shape[1]}, in a .jsonl file"
            )
            return
        problems.error(
            defect.code,
            defect.message,
            path=path,
            line=defect.line,
            field=defect.field,
            remedy=defect.remedy,
        )
        return
    lines = parse_yaml(path, raw.decode("utf-8"), Problems())  # read as YAML, only for the lines
    yield WrittenCase(document, 1, lines)


def _yaml(path: Path, problems: Problems) -> Iterator[WrittenCase]:
    """The case or the cases in a YAML file; every defect goes to `problems`."""
    before = len(problems.errors)
    tree = read_yaml(path, problems)
    if tree is None or len(problems.errors) > before:
        return
    is_list = isinstance(tree.value, list)
    if is_list and not tree.value:
        problems.error("no-cases", "the list is empty: it holds no case", path=path, line=1)
    for index, value in enumerate(tree.value if is_list else [tree.value]):
        at: Location = (index,) if is_list else ()
        line = tree.line_of(at) or 1
        if not isinstance(value, dict):
            remedy = "write a case as `key: value` lines, or a list of such cases"
            problems.error("wrong-type", "is not a case", path=path, line=line, remedy=remedy)
            continue
        try:
            document = parse_object(json.dumps(value).encode(), "case")
        except Defect as defect:
            where = tree.line_of((*at, defect.field)) if defect.field else line
            problems.error(
                defect.code, defect.message, path=path, line=where, field=defect.field,
                remedy=defect.remedy, case_line=line,
            )  # fmt: skip
        else:
            yield WrittenCase(document, line, tree, at)
