"""Compares each number of a page with one that SQL says, and finds those that nobody compared."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import pytest
from pydantic import BaseModel

Row = Mapping[str, Any]


def numeric_paths(model: type[BaseModel]) -> set[str]:
    """Where a model can hold a number: `counts.planned`, `rows[].position`, `topics{}`."""
    schema = model.model_json_schema(mode="serialization")
    return set(_numeric(schema, schema.get("$defs", {}), ""))


def _numeric(schema: Row, known: Row, path: str) -> Iterator[str]:
    if "$ref" in schema:
        schema = known[schema["$ref"].rpartition("/")[2]]
    for each in schema.get("anyOf", ()):
        yield from _numeric(each, known, path)
    match schema.get("type"):
        case "integer" | "number":
            yield path
        case "array":
            inside = [schema["items"]] if "items" in schema else []
            for each in (*inside, *schema.get("prefixItems", ())):
                yield from _numeric(each, known, f"{path}[]")
        case "object":
            for name, each in schema.get("properties", {}).items():
                yield from _numeric(each, known, f"{path}.{name}" if path else name)
            if isinstance(rest := schema.get("additionalProperties"), dict):
                yield from _numeric(rest, known, f"{path}{{}}")


class Numbers:
    """The numbers of one page, and which of them were compared."""

    def __init__(self, model: type[BaseModel], document: Any = None) -> None:
        self._paths = numeric_paths(model)
        self._compared: set[str] = set()
        self.document = document

    def one(self, path: str, expected: Any) -> None:
        """The value at this path, of all that are there, is this one; a list where it has `[]`."""
        known = {path, f"{path}[]"} & self._paths
        assert known, f"no number is at {path}"
        found = _at(self.document, _parts(path))
        assert found == _about(expected), path
        self._compared |= known

    def same(self, prefix: str, expected: Row) -> None:
        """The same for several below this path."""
        for name, value in expected.items():
            self.one(f"{prefix}.{name}" if prefix else name, value)

    def rows(self, path: str, expected: Sequence[Row], key: Collection[str] = ()) -> None:
        """The rows of the list at this path are these, in order; or by a key, if there is one.

        What a column is called is its path within the row. A path with `[]` is of several lists,
        one after the other.
        """
        found = _flat(_at(self.document, _parts(path)))
        columns = list(expected[0]) if expected else []
        told = [{name: _within(row, name) for name in columns} for row in found]
        wanted = [dict(row) for row in expected]
        if key:
            told, wanted = (
                sorted(each, key=lambda row: [str(row[name]) for name in key])
                for each in (told, wanted)
            )
        assert len(told) == len(wanted), path
        for one, two in zip(told, wanted, strict=True):
            for name in columns:
                assert one[name] == _about(two[name]), f"{path}[].{name} of {one}"
        self._compared |= {f"{path}[].{name}" for name in columns} & self._paths
        self._compared |= {f"{path}[].{name}[]" for name in columns} & self._paths
        self._compared |= {f"{path}[].{name}{{}}" for name in columns} & self._paths

    def finish(self, explained: Mapping[str, str]) -> None:
        """Every number was compared or is explained, and no explanation is left over."""
        patterns = _quoted(explained)
        rest = self._paths - self._compared
        left = {path for path in rest if not any(fnmatchcase(path, each) for each in patterns)}
        assert not left, "no SQL says: " + ", ".join(sorted(left))
        idle = [
            name
            for name, pattern in zip(explained, patterns, strict=True)
            if not any(fnmatchcase(path, pattern) for path in rest)
        ]
        assert not idle, f"explained without need: {', '.join(idle)}"


def _quoted(patterns: Mapping[str, str]) -> list[str]:
    return [each.replace("[]", "[[][]]") for each in patterns]


def _parts(path: str) -> list[str]:
    return [part for part in re.split(r"\.|(\[\])|(\{\})", path) if part]


def _flat(value: Any) -> list[Any]:
    if not isinstance(value, list):
        return [value]
    return [each for part in value for each in _flat(part)]


def _about(value: Any) -> Any:
    if isinstance(value, float):
        return pytest.approx(value, rel=1e-9, abs=1e-12)
    if isinstance(value, list) and value and isinstance(value[0], float):
        return pytest.approx(value, rel=1e-9, abs=1e-12)
    return value


def _at(value: Any, parts: Sequence[str]) -> Any:
    if not parts or value is None:
        return value
    if parts[0] == "[]":
        return [_at(each, parts[1:]) for each in value]
    if parts[0] == "{}":
        return {name: _at(each, parts[1:]) for name, each in value.items()}
    return _at(value[parts[0]], parts[1:])


def _within(row: Any, name: str) -> Any:
    return _at(row, name.split("."))
