"""Cases as they are written in YAML files: one case, or a list of them.

They are read with the strictness of `json_lines`: YAML may only contain values that JSON can.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from failproof_es.dialects.kit.json_lines import Defect, parse_object
from failproof_es.dialects.kit.yaml_documents import Location, YamlTree, dotted, read_yaml
from failproof_es.problems import Problems


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

    def place_of(self, path: Path, location: Location) -> dict[str, Any]:
        """The place of a value in the case, as arguments of `Problems.error`.

        `path` is the file of the case.
        """
        return {
            "path": path,
            "line": self.line_of(location),
            "field": dotted((*self.at, *location)) or None,
            "case_line": self.line,
        }


class CaseDefect(NamedTuple):
    """A defect or an oddity of a case: its code, its location in the case, and what to do."""

    code: str
    location: Location
    message: str
    remedy: str | None = None


UnknownKey = tuple[Location, tuple[str, ...], dict[str, Any]]
"""The location of a key in a case, the known keys there, and the object around it."""


def yaml_cases(path: Path, problems: Problems, noun: str = "case") -> Iterator[WrittenCase]:
    """Every case of the file that is an object of JSON values; every defect goes to `problems`.

    The cases are not validated. `noun` is the word for a case in messages.
    """
    before = len(problems.errors)
    tree = read_yaml(path, problems)
    if tree is None or len(problems.errors) > before:
        return
    is_list = isinstance(tree.value, list)
    if is_list and not tree.value:
        problems.error("no-cases", f"the list is empty: it holds no {noun}", path=path, line=1)
    for index, value in enumerate(tree.value if is_list else [tree.value]):
        at: Location = (index,) if is_list else ()
        line = tree.line_of(at) or 1
        if not isinstance(value, dict):
            remedy = f"write a {noun} as `key: value` lines, or a list of such {noun}s"
            problems.error(
                "wrong-type", f"is not a {noun}", path=path, line=line,
                field=dotted(at) or None, case_line=line, remedy=remedy,
            )  # fmt: skip
            continue
        try:
            document = parse_object(json.dumps(value).encode(), noun)
        except Defect as defect:
            place = (*at, defect.field) if defect.field else at
            defect.report(
                problems,
                path=path,
                line=tree.line_of(place),
                field=dotted(place) or None,
                case_line=line,
            )
        else:
            yield WrittenCase(document, line, tree, at)
