"""Reads JSON files of other tools within bounds of size."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from failproof_es.problems import InvalidInput, Problem
from failproof_es.recorded_runs.sources import unreadable_file
from failproof_es.support.regular_file import open_regular

MOST_BYTES = 2**30
"""The most bytes of a JSON file, which is read as a whole."""
MOST_LINE_BYTES = 2**28
_LONGEST_KEY = 60


def load_json(path: Path) -> Any:
    """The JSON value in a file.

    Raises `InvalidInput` if the file cannot be read, is not JSON, has a key twice in one object, or
    is larger than `MOST_BYTES`.
    """
    try:
        with open_regular(path) as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise unreadable_file(path, error) from None
    if len(content) > MOST_BYTES:
        raise InvalidInput(
            [Problem("file-too-large", f"is larger than {MOST_BYTES // 2**20} MiB", path=path)]
        )
    return _parse(content, path, None)


def load_json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield the number, from 1, and the value of each line that is not blank.

    Raises `InvalidInput` at the first line that is not JSON, has a key twice in one object, or is
    longer than `MOST_LINE_BYTES`.
    """
    try:
        with open_regular(path) as file:
            number = 0
            while raw := file.readline(MOST_LINE_BYTES + 1):
                number += 1
                if len(raw) > MOST_LINE_BYTES:
                    message = f"the line is longer than {MOST_LINE_BYTES // 2**20} MiB"
                    raise InvalidInput([Problem("line-too-long", message, path=path, line=number)])
                if raw.strip():
                    yield number, _parse(raw, path, number)
    except OSError as error:
        raise unreadable_file(path, error) from None


def _parse(content: bytes, path: Path, line: int | None) -> Any:
    try:
        return json.loads(content, object_pairs_hook=_require_unique_keys)
    except _DuplicateKey as error:
        message = f"the key {str(error)!r} occurs twice in one object: one value would be lost"
        raise InvalidInput([Problem("duplicate-field", message, path=path, line=line)]) from None
    except (ValueError, RecursionError) as error:
        message = "is no JSON" if line is None else "the line is no JSON"
        remedy = "check that the file is whole: its writer may have been stopped"
        at = line or getattr(error, "lineno", None)
        raise InvalidInput(
            [Problem("not-json", f"{message}: {error}"[:300], path=path, line=at, remedy=remedy)]
        ) from None


class _DuplicateKey(Exception):
    """An object has a key twice. `str` is the beginning of the key."""


def _require_unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        stood = Counter(key for key, _ in pairs)
        [(twice, _)] = stood.most_common(1)
        raise _DuplicateKey(twice[:_LONGEST_KEY].encode("utf-8", "backslashreplace").decode())
    return document
