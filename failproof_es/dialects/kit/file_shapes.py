"""Recognises a file that is not JSON Lines, and suggests what to write instead."""

from __future__ import annotations

import csv
import json
import re

LOOKED_AT = 32 * 1024 * 1024
"""Bytes of a file that are read to recognise its shape."""
_OBJECT_A_LINE = "write one object on each line, as `jq -c .` does"
_ELEMENT_A_LINE = "write each object of the array on a line of its own, as `jq -c '.[]'` does"
_IMPORT = (
    "`failproof-es import csv FILE.csv -o FOLDER --column prompt=COLUMN --column expected=COLUMN` "
    "makes a suite of it"
)
_MOST_COLUMNS, _LONGEST_COLUMN = 8, 40
_CSV_SUFFIXES = (".csv", ".tsv")

_MULTILINE_OPENING = re.compile(r'\{\s*\n\s*"|\[\s*\{')
"""The beginning of an object over several lines, or of an array of objects."""

Shape = tuple[str, str]
"""The name of the file's shape, and what to write instead."""


def shape_of_json(raw: bytes) -> Shape | None:
    """The shape of JSON that is not JSON Lines; `None` if it is unknown.

    `raw` is the beginning of a file that is not JSON Lines: an array of objects, or one object over
    several lines, is recognised.
    """
    text = raw.decode("utf-8", "replace").lstrip("\ufeff").strip()
    if text[:1] not in ("{", "["):
        return None
    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        # Damaged further on, or longer than LOOKED_AT.
        opening = _MULTILINE_OPENING.match(text)
        return _shape(opening[0][0]) if opening else None
    if isinstance(value, list):
        objects = bool(value) and all(isinstance(member, dict) for member in value)
        return _shape("[") if objects else None
    return _shape("{") if "\n" in text[:end] else None


def _shape(bracket: str) -> Shape:
    if bracket == "[":
        return "this is a JSON array of cases", _ELEMENT_A_LINE
    return "this is pretty-printed JSON: an object goes over several lines", _OBJECT_A_LINE


def shape_of_table(raw: bytes, suffix: str) -> Shape | None:
    """The shape of comma-separated values; `None` for any other text.

    Such values have two rows with the same number of columns, at least two. In a file with the
    `suffix` .csv or .tsv the first row is enough.
    """
    text = raw.decode("utf-8-sig", "replace")
    if text.lstrip()[:1] in ("{", "["):
        return None
    for separator in (",", ";", "\t"):
        rows = csv.reader(text.splitlines(), delimiter=separator)
        try:
            head, second = next(rows, []), next(rows, [])
        except csv.Error:
            continue
        if len(head) > 1 and (len(second) == len(head) or suffix.lower() in _CSV_SUFFIXES):
            message = "this is a table of comma-separated values, not JSON"
            columns = ", ".join(key.strip()[:_LONGEST_COLUMN] for key in head[:_MOST_COLUMNS])
            return message, f"{_IMPORT}; its columns: {columns}"
    return None
