"""TOML as plain values with the line of each key.

`tomllib` gives lines only for syntax errors. The lines of keys follow from the structure of a TOML
document: a sequence of expressions, each of one or more whole lines, none of which is valid when it
is cut short. So the shortest run of lines that parses is one expression. Keys inside an inline
table or array have the first line of that expression.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from failproof_es.dialects.kit.yaml_documents import Location
from failproof_es.problems import Problems

_SYNTAX_PLACE = re.compile(r" \((?:at line (\d+), column (\d+)|at end of document)\)$")
_DIGITS = re.compile(r"[0-9_]+")
_CLOSES = ("]", "}", '"""', "'''")
"""One of these is in the last line of an expression of several lines."""
_MOST_PARTS = 100
"""Limit for keys such as `a.b.c`: `tomllib` takes time quadratic in their parts."""
_LONG_KEY = re.compile(
    rf"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{_MOST_PARTS}}}"""
)
_MOST_ATTEMPTS = 200
"""After so many possible last lines the search gives up: the rest of the text gets no lines."""


class TomlTree:
    """The values of a TOML text with the line of each."""

    def __init__(self, text: str, value: dict[str, Any]) -> None:
        self._text = text
        self.value = value

    def line_of(self, location: Location) -> int | None:
        """The line of the value at `location`, or of the nearest one that contains it.

        `None` if no line is known.
        """
        for length in range(len(location), 0, -1):
            if (line := self._lines.get(location[:length])) is not None:
                return line
        return None

    @cached_property
    def _lines(self) -> dict[Location, int]:
        """The line of each key, by the key's location.

        Computed on first use, so that a file without defects costs no time here.
        """
        lines: dict[Location, int] = {}
        tables: dict[Location, int] = {}
        """Number of elements of each array of tables so far."""
        current: Location = ()
        for line, header, value in _expressions(self._text):
            if header is None:
                _record_lines(lines, current, value, line)
                continue
            current = _resolve(_path(value), tables)
            if header == "[[":
                tables[current] = tables.get(current, 0) + 1
                lines.setdefault(current, line)
                current = (*current, tables[current] - 1)
            lines.setdefault(current, line)
        return lines


def load_toml(text: str) -> dict[str, Any]:
    """The text's content, in time linear in its length.

    Raises `ValueError` if the text is not TOML (usually its subclass `tomllib.TOMLDecodeError`),
    and `RecursionError` if it is nested too deeply.
    """
    if (key := _LONG_KEY.search(text)) is not None:
        line = text.count("\n", 0, key.start()) + 1
        column = key.start() - text.rfind("\n", 0, key.start())
        raise tomllib.TOMLDecodeError(
            f"A key of more than {_MOST_PARTS} parts (at line {line}, column {column})"
        )
    return tomllib.loads(text)


def parse_toml(path: Path, text: str, problems: Problems) -> TomlTree | None:
    """The text's content with its lines, or `None` with the reason in `problems`.

    `path` is the text's file, for the problem; it is not read.
    """
    try:
        return TomlTree(text, load_toml(text))
    except tomllib.TOMLDecodeError as error:
        place = _SYNTAX_PLACE.search(str(error))
        message = str(error)[: place.start()] if place else str(error)
        line = place and place[1] and int(place[1])
        column = f", column {place[2]}" if place and place[2] else ""
        problems.error(
            "not-toml",
            f"is not TOML: {message[:1].lower()}{message[1:]}{column}",
            path=path,
            line=line or text.count("\n") + 1,
            remedy="correct the file: nothing behind this place could be looked at",
        )
    except ValueError:  # an integer of thousands of digits
        longest = max(_DIGITS.finditer(text), key=lambda match: len(match[0]), default=None)
        line = longest and text.count("\n", 0, longest.start()) + 1
        problems.error(
            "not-toml", "is not TOML: it holds a number that is too long", path=path, line=line
        )
    except RecursionError:
        problems.error("not-toml", "is not TOML: it is nested too deeply", path=path)
    return None


def _expressions(text: str) -> Iterator[tuple[int, str | None, dict[str, Any]]]:
    """(first line, `[` or `[[` of a header, value) of each expression in a valid document.

    Lines count from 1. The header is `None` for an expression that is a key with its value.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    start = 0
    while start < len(lines):
        ended = _expression_end(lines, start)
        if ended is None:
            return
        end, value = ended
        opening = lines[start].lstrip()
        header = "[[" if opening.startswith("[[") else "[" if opening.startswith("[") else None
        if value:
            yield start + 1, header, value
        start = end


def _expression_end(lines: list[str], start: int) -> tuple[int, dict[str, Any]] | None:
    """The end (exclusive) and the value of the expression that begins at `lines[start]`.

    `None` if no end is found within `_MOST_ATTEMPTS`.
    """
    attempts = 0
    for end in range(start + 1, len(lines) + 1):
        if end > start + 1 and not any(mark in lines[end - 1] for mark in _CLOSES):
            continue
        try:
            return end, tomllib.loads("\n".join(lines[start:end]))
        except tomllib.TOMLDecodeError:
            attempts += 1
            if attempts > _MOST_ATTEMPTS:
                return None
    return None


def _path(header: Any) -> list[str]:
    """The keys of a header that was parsed alone: `a` and `b` for `{"a": {"b": {}}}`."""
    path: list[str] = []
    while isinstance(header, dict) and header:
        key, header = next(iter(header.items()))
        path.append(key)
    return path


def _resolve(path: list[str], tables: dict[Location, int]) -> Location:
    """The location that a header names: inside arrays of tables, their last element.

    `path` are the header's keys, `tables` the number of elements of each array of tables so far.
    """
    location: Location = ()
    for position, key in enumerate(path):
        location = (*location, key)
        if position < len(path) - 1 and location in tables:
            location = (*location, tables[location] - 1)
    return location


def _record_lines(lines: dict[Location, int], at: Location, value: Any, line: int) -> None:
    """Record `line` for every key in `value`, which is at the location `at`.

    A key that already has a line keeps it: the first one of a table in several parts.
    """
    if isinstance(value, dict):
        for key, below in value.items():
            lines.setdefault((*at, key), line)
            _record_lines(lines, (*at, key), below, line)
