"""Finds duplicate ids in a suite without holding them all in memory."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any, Self

from failproof_es.problems import Problems


class SeenIds:
    """The first place of each case id in each suite, in a temporary database on disk.

    The database exists inside a `with` block.
    """

    def __enter__(self) -> Self:
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute(
            "CREATE TABLE places (suite, case_id, path, line, PRIMARY KEY (suite, case_id)) "
            "WITHOUT ROWID"
        )
        self._database.execute("BEGIN")  # one transaction for all: it is gone afterwards
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def claim(self, suite_id: str, case_id: str, path: Path, line: int) -> str | None:
        """Claim an id in its suite. Returns `None`, or the earlier claim's place as `file:line`.

        `path` and `line` are the place of this claim. With one `suite_id` for all, ids are unique
        over all suites.
        """
        key = (suite_id.encode(), case_id.encode())
        cursor = self._database.execute(
            "INSERT INTO places VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (*key, os.fsencode(path), line),
        )
        if cursor.rowcount:
            return None
        first, at = self._database.execute(
            "SELECT path, line FROM places WHERE suite = ? AND case_id = ?", key
        ).fetchone()
        return f"{os.fsdecode(first)}:{at}"

    def is_new(
        self, suite_id: str, case_id: str, problems: Problems, noun: str = "case", **place: Any
    ) -> bool:
        """Claim an id as `claim` does. Reports an error and returns `False` if it is in use.

        `place` is the place of the id as arguments of `Problems.error`, `noun` the word for a case.
        """
        first = self.claim(suite_id, case_id, place["path"], place["line"] or 1)
        if first is not None:
            in_suite = f" in suite {suite_id!r}" if suite_id else ""
            name = place["field"].rpartition(".")[2]
            message = f"duplicate id {case_id!r}{in_suite}, first used at {first}"
            remedy = f"give each {noun} its own {name}"
            problems.error("duplicate-id", message, remedy=remedy, **place)
        return first is None
