"""Finds the file and line of a case in its suite, while the file is unchanged."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePath
from typing import NamedTuple
from urllib.parse import quote

import orjson

from failproof_es.events import SuiteSnapshot
from failproof_es.support.regular_file import open_regular

_LARGEST = 64_000_000
"""Maximum bytes of a file that is searched."""
_ID = re.compile(
    rb"""(?:^|[\s{,\[-])["']?(?:case_id|prompt_id|id)["']?\s*[:=]\s*"""
    rb"""("(?:[^"\\]|\\.)*"|'[^']*'|[^\s,}#"'\[{][^,}#\r\n]*)"""
)


class SuitePlace(NamedTuple):
    """The file of a case as the run recorded its path, and the case's line from 1, if known."""

    path: str
    line: int | None

    @property
    def uri(self) -> str:
        """The file's URI: relative if the file is below the current folder, else `file://`.

        A relative path that the run recorded stays relative.
        """
        path = PurePath(self.path)
        if path.is_absolute() and not path.is_relative_to(Path.cwd()):
            return f"file://{quote(path.as_posix(), errors='replace')}"
        below = path.relative_to(Path.cwd()) if path.is_absolute() else path
        return quote(below.as_posix(), errors="replace")


class SuitePlaces:
    """The files and lines of a run's cases. A file that has changed or is missing has no lines."""

    def __init__(self, suites: Sequence[SuiteSnapshot]) -> None:
        self._only = suites[0].path if len(suites) == 1 else None
        self._places: dict[str, SuitePlace | None] = {}
        for suite in suites:
            for case_id, line in _lines_of(suite):
                place = SuitePlace(suite.path, line)
                self._places[case_id] = None if case_id in self._places else place

    def of(self, case_id: str) -> SuitePlace | None:
        """The file and line of the case, found by its id; `None` if its file is uncertain."""
        place = self._places.get(case_id)
        if place is None and self._only is not None:
            return SuitePlace(self._only, None)
        return place


def _lines_of(suite: SuiteSnapshot) -> Iterator[tuple[str, int]]:
    content = b""
    with suppress(OSError, ValueError), open_regular(Path(suite.path), os.O_RDONLY) as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST or hashlib.sha256(content).hexdigest() != suite.sha256:
        return
    for number, line in enumerate(content.splitlines(), 1):
        for match in _ID.finditer(line[:100_000]):
            with suppress(ValueError):
                yield _text(match[1].strip()), number


def _text(literal: bytes) -> str:
    if literal[:1] == b'"':
        return str(orjson.loads(literal))
    return literal.strip(b"'").decode()
