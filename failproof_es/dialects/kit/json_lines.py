"""Strict JSON lines: one object a line, read as a stream, every defect with its place.

Stricter than `json.loads` where leniency would lose or change what a person wrote:
duplicate keys, NaN and infinities, lone surrogates, integers beyond 64 bits and nesting
that the event log's encoder could not write back are errors, not surprises later.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from failproof_es.dialects.kit.file_shapes import LOOKED_AT, Shape, shape_of_json, shape_of_table
from failproof_es.problems import Problems

MAX_LINE_BYTES = 32 * 1024 * 1024
MAX_DEPTH = 100
_BOM = b"\xef\xbb\xbf"
_SURROGATE = re.compile(r"\\u[dD]")
_REMEDY_JSON = "write one JSON object on each line"
_TRAILING_COMMA = re.compile(r"\s*,\s*([}\]])")
_SYNTAX = {
    "Expecting property name": "a name in double quotes is missing",
    "Expecting ':'": "a colon is missing after the name",
    "Expecting ','": "a comma or a closing bracket is missing",
    "Expecting value": "a value is missing (a text needs double quotes)",
    "Unterminated string": "a text has no closing quote",
    "Invalid control character": "a text holds a line break, a tab or another control character: "
    "write it as \\n, \\t or \\u00XX",
    "Invalid \\escape": "a backslash begins no escape: write \\\\ for a backslash",
    "Invalid \\uXXXX": "\\u needs four hexadecimal digits",
    "Extra data": "something follows the end of the object",
}
"""The defect in words, by the beginning of the decoder's message."""


@dataclass(eq=False)
class Defect(Exception):
    """The error that a text is no valid JSON object, with field and line if they are known."""

    code: str
    message: str
    field: str | None = None
    remedy: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        return self.message

    def report(self, problems: Problems, **place: Any) -> None:
        """Report the defect. `place` is its place as arguments of `Problems.error`."""
        own: dict[str, Any] = {"line": self.line, "field": self.field, "remedy": self.remedy}
        problems.error(self.code, self.message, **{**own, **place})


def report_unreadable(problems: Problems, path: Path, error: OSError) -> None:
    """Report a file that can't be read."""
    message = f"the file can't be read: {error.strerror or error}"
    problems.error("file-unreadable", message, path=path)


def read_objects(path: Path, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line, object) for every good line. Blank lines and a UTF-8 BOM are fine.

    Lines count from 1. Reports every defect to `problems` and raises for none. A file without any
    line is an error.
    """
    empty, looked = True, False
    try:
        with path.open("rb") as stream:
            for line, raw in _lines(stream):
                if raw is not None and not raw.strip():
                    continue
                empty = False
                try:
                    if raw is None:
                        raise Defect(
                            "line-too-long",
                            f"the line is longer than {MAX_LINE_BYTES // 1024**2} MiB",
                            remedy="split the case",
                        )
                    document = parse_object(raw)
                except Defect as defect:
                    if raw is not None and not looked:
                        looked = True
                        if shape := _shape_from(raw, stream, path.suffix if line == 1 else None):
                            message, remedy = shape
                            problems.error(
                                "foreign-format", message, path=path, line=line, remedy=remedy
                            )
                            return
                    defect.report(problems, path=path, line=line)
                else:
                    yield line, document
    except OSError as error:
        report_unreadable(problems, path, error)
        return
    if empty:
        problems.error(
            "empty-file", "the file is empty: it holds no case", path=path, remedy="add one"
        )


def _shape_from(raw: bytes, stream: BinaryIO, suffix: str | None) -> Shape | None:
    """The known shape of a file that is not JSON Lines, from its first bad line on.

    `raw` is that line, `stream` the file behind it; the stream's position is restored. `suffix` is
    the file's suffix if that line is its first, else `None`. The result is `None` for an unknown
    shape.
    """
    place = stream.tell()
    try:
        rest = raw + stream.read(LOOKED_AT)
    finally:
        stream.seek(place)
    return shape_of_json(rest) or (None if suffix is None else shape_of_table(rest, suffix))


def _lines(stream: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Yield (line number from 1, bytes), with `None` for a line that is too long."""
    number = 0
    while raw := stream.readline(MAX_LINE_BYTES):
        number += 1
        if number == 1:
            raw = raw.removeprefix(_BOM)
        if len(raw) < MAX_LINE_BYTES or raw.endswith(b"\n"):
            yield number, raw
            continue
        while rest := stream.readline(MAX_LINE_BYTES):
            if rest.endswith(b"\n"):
                break
        yield number, None


def parse_object(raw: bytes, whole: str = "line") -> dict[str, Any]:
    """The one JSON object in `raw`. Raises only `Defect`: not UTF-8, not strict JSON, no object.

    `whole` is the noun for `raw` in its messages, such as `line` or `file`.
    """
    remedy = _REMEDY_JSON if whole == "line" else f"the {whole} must hold one JSON object"
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Defect(
            "not-utf8",
            f"not UTF-8: byte 0x{raw[error.start]:02x} at byte {error.start + 1} of the {whole}",
            remedy="save the file as UTF-8",
        ) from None
    try:
        # So that an error at the end is on the last line.
        document = _DECODER.decode(text.rstrip(" \t\r\n"))
    except json.JSONDecodeError as error:
        raise Defect(
            "not-json",
            f"bad JSON at column {error.colno}: {_describe_syntax(error)}",
            remedy=remedy, line=error.lineno,
        ) from None  # fmt: skip
    except RecursionError:
        raise Defect("nested-too-deeply", f"nested deeper than {MAX_DEPTH} levels") from None
    if not isinstance(document, dict):
        raise Defect("wrong-type", f"the {whole} is not a JSON object", remedy=remedy)
    _check_depth(text, document)
    if _SURROGATE.search(text):  # in UTF-8 only an escape can be one
        _check_surrogates(document)
    return document


def _describe_syntax(error: json.JSONDecodeError) -> str:
    before = len(error.doc[: error.pos].rstrip(" \t\r\n,"))
    if trailing := _TRAILING_COMMA.match(error.doc, before):
        return f"a comma stands before the closing {trailing[1]}"
    return next(
        (text for beginning, text in _SYNTAX.items() if error.msg.startswith(beginning)), error.msg
    )


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise Defect(
                    "duplicate-field",
                    "duplicate key in the object",
                    field=_printable(key),
                    remedy="keep one",
                )
            seen.add(key)
    return document


def _no_constant(word: str) -> NoReturn:
    raise Defect("not-json", f"{word} is not JSON", remedy="write a number, a string or null")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise Defect("out-of-range", f"the number {text[:40]} is too large")
    return number


def _in_64_bits(text: str) -> int:
    # 20 characters hold every 64-bit integer; longer text is not even converted
    if len(text) > 20 or not -(2**63) <= (number := int(text)) < 2**64:
        message = f"the integer {text[:40]} does not fit in 64 bits"
        raise Defect("out-of-range", message, remedy="write a string")
    return number


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_constant=_no_constant,
    parse_float=_finite,
    parse_int=_in_64_bits,
)


def _check_depth(text: str, document: dict[str, Any]) -> None:
    if text.count("{") + text.count("[") <= MAX_DEPTH:
        return
    level: list[Any] = [document]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, dict | list)
        ]
        if not level:
            return
    raise Defect("nested-too-deeply", f"nested deeper than {MAX_DEPTH} levels")


def _check_surrogates(document: dict[str, Any]) -> None:
    """Raise `Defect` for a lone surrogate, which a JSON escape can write and UTF-8 cannot."""
    for key, value in document.items():
        try:
            json.dumps([key, value], ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError as error:
            raise Defect(
                "not-storable",
                f"lone surrogate \\u{ord(error.object[error.start]):04x} is not a character",
                field=_printable(key),
                remedy="write the character itself",
            ) from None


def _printable(key: str) -> str:
    return key.encode("utf-8", "backslashreplace").decode("utf-8")
