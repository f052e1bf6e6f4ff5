"""A dataset's file as plain values with their lines: TOML, or the same shape as YAML or JSONL.

JSON lines hold a dataset in the order in which it is written: the first line is
`{"version": "..."}`, every other line is a test case.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, time
from pathlib import Path
from typing import Any, Protocol

from failproof_es.dialects.kit.json_lines import MAX_DEPTH, read_objects, report_unreadable
from failproof_es.dialects.kit.looking import head_of
from failproof_es.dialects.kit.yaml_documents import Location, dotted, read_yaml
from failproof_es.dialects.shipped.command.dataset.toml_tree import parse_toml
from failproof_es.problems import Problems

CASES = "test_cases"
MAX_BYTES = 32 * 1024 * 1024
_YAML = (".yaml", ".yml")


class DatasetTree(Protocol):
    """The values of a dataset's file with their lines, whatever its format."""

    @property
    def value(self) -> Any:
        """The content of the whole file, not validated."""

    def line_of(self, location: Location) -> int | None:
        """The line of a value, or of the nearest one that contains it; `None` if unknown."""


@dataclass(frozen=True, slots=True)
class JsonLinesTree:
    """The values of a JSON Lines dataset, with the line of each case."""

    value: dict[str, Any]
    lines: Mapping[int, int]
    """Line numbers by case index."""

    def line_of(self, location: Location) -> int | None:
        """The line of the case that contains the value; 1 for anything outside a case.

        `None` for a case that the file does not have.
        """
        if location[:1] != (CASES,) or len(location) == 1:
            return 1
        index = location[1]
        return self.lines.get(index) if isinstance(index, int) else None


def looks_like_a_dataset(path: Path) -> bool:
    """Whether the file's first 64 KiB name test cases the way specification 004 does.

    `False` for any suffix but .toml, .yaml, .yml and .jsonl, and for a file that can't be read.
    """
    words = {".jsonl": b'"expected_command"', **dict.fromkeys((".toml", *_YAML), b"test_cases")}
    word = words.get(path.suffix.lower())
    return word is not None and word in head_of(path, words)


def read_dataset(path: Path, problems: Problems) -> DatasetTree | None:
    """The file's values, parsed by its suffix (as TOML for an unknown one).

    `None`, with the reasons in `problems`, if the file can't be parsed. The values are not
    validated.
    """
    suffix = path.suffix.lower()
    if suffix == ".jsonl":
        return _read_json_lines(path, problems)
    try:
        if path.stat().st_size == 0:
            problems.error("empty-file", "the file is empty: it holds no test case", path=path)
            return None
        if suffix in _YAML:
            return read_yaml(path, problems, largest=MAX_BYTES)
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        report_unreadable(problems, path, error)
        return None
    if len(raw) > MAX_BYTES:
        problems.error(
            "file-too-large",
            f"the file is larger than {MAX_BYTES // 1024**2} MiB",
            path=path,
            remedy="split it",
        )
        return None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        problems.error(
            "not-utf8", "not UTF-8", path=path, line=line, remedy="save the file as UTF-8"
        )
        return None
    return parse_toml(path, text, problems)


def _read_json_lines(path: Path, problems: Problems) -> JsonLinesTree | None:
    before = len(problems.errors)
    objects = list(read_objects(path, problems))
    if not objects:
        return None
    value: dict[str, Any] = {}
    if "version" in objects[0][1]:
        line, value = objects.pop(0)
        if CASES in value:
            problems.error(
                "misplaced-field",
                "the first line holds the version alone",
                path=path,
                line=line,
                field=CASES,
                remedy="write each test case on a line of its own",
            )
    if len(problems.errors) > before and not objects:
        return None
    lines = {index: line for index, (line, _) in enumerate(objects)}
    return JsonLinesTree({**value, CASES: [document for _, document in objects]}, lines)


class NotStorable(ValueError):
    """A value that the event log could not store exactly, with its location."""

    def __init__(self, message: str, location: Location) -> None:
        super().__init__(f"{dotted(location)}: {message}" if location else message)
        self.message = message
        self.location = location


def storable(value: Any, at: Location = ()) -> Any:
    """The value as JSON can store it: TOML's dates and times become text.

    `at` is the location of the value. Raises `NotStorable` for numbers that are not finite or do
    not fit in 64 bits, text that is not Unicode, and nesting deeper than `MAX_DEPTH`.
    """
    if len(at) > MAX_DEPTH:
        raise NotStorable(f"is nested deeper than {MAX_DEPTH} levels", at[:1])
    match value:
        case dict():
            return {storable(str(k), at): storable(v, (*at, str(k))) for k, v in value.items()}
        case list():
            return [storable(element, (*at, index)) for index, element in enumerate(value)]
        case date() | time():
            return value.isoformat()
        case float() if not math.isfinite(value):
            raise NotStorable("is not a finite number", at)
        case int() if not -(2**63) <= value < 2**64:
            raise NotStorable("does not fit in 64 bits", at)
        case str():
            try:
                value.encode("utf-8")
            except UnicodeEncodeError:
                raise NotStorable("holds a lone surrogate, which is not a character", at) from None
    return value
