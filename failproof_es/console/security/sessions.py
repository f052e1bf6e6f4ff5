"""Sessions of people who logged in, in a file of SQLite, so that they survive the server.

A cookie holds a random id of 256 bits, the file only its SHA-256: who reads the file cannot use it.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from secrets import token_bytes, token_urlsafe
from threading import Lock

from failproof_es.problems import InvalidInput

LONGEST_S = 12 * 3600.0
"""Seconds from the login to the end of a session."""
LONGEST_IDLE_S = 2 * 3600.0
"""Seconds without a request after which a session ends."""
_NOTED_EVERY_S = 60.0
"""Seconds after which another request of a session is noted."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS session (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, credential TEXT NOT NULL,
    begun_at REAL NOT NULL, seen_at REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS form_key (id INTEGER PRIMARY KEY CHECK (id = 1), key BLOB NOT NULL)
STRICT;
"""


@dataclass(frozen=True, slots=True)
class LoginSession:
    """A session that has not ended."""

    id: str
    """Not the value of the cookie, which is nowhere but with the browser."""
    name: str
    credential: str
    """The credential that the person logged in with."""


class Sessions:
    """The sessions in one file. Every method reads or writes it; several threads may call them."""

    def __init__(self, path: Path, now: Callable[[], float] = time.time) -> None:
        """Open or create the file, for this user alone. Raises `InvalidInput` if it cannot."""
        self._now = now
        self._lock = Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            with os.fdopen(descriptor, "rb"):
                os.fchmod(descriptor, 0o600)
            self._database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            self._database.executescript(_SCHEMA)
            self._database.execute(
                "INSERT INTO form_key VALUES (1, ?) ON CONFLICT DO NOTHING", (token_bytes(32),)
            )
            [self.form_key] = self._database.execute("SELECT key FROM form_key").fetchone()
        except (OSError, sqlite3.Error) as error:
            raise InvalidInput.because(
                "file-unwritable",
                f"the sessions of the console cannot be kept in {path}: {error}",
                remedy="delete the file, or name another folder with FAILPROOF_ES_HOME",
            ) from None

    def begin(self, name: str, credential: str) -> str:
        """Begin a session; return the value of its cookie. Ended sessions are deleted."""
        value, now = token_urlsafe(32), self._now()
        with self._lock, self._database:
            self._database.execute(
                "DELETE FROM session WHERE begun_at <= ? OR seen_at <= ?",
                (now - LONGEST_S, now - LONGEST_IDLE_S),
            )
            self._database.execute(
                "INSERT INTO session VALUES (?, ?, ?, ?, ?)",
                (_id_of(value), name, credential, now, now),
            )
        return value

    def find(self, value: str) -> LoginSession | None:
        """The session of a cookie, unless it ended. Its idle time begins anew."""
        now = self._now()
        with self._lock:
            row = self._database.execute(
                "SELECT id, name, credential, begun_at, seen_at FROM session WHERE id = ?",
                (_id_of(value),),
            ).fetchone()
            if row is None:
                return None
            session_id, name, credential, begun_at, seen_at = row
            # A clock that was set back ends a session: its age is not known then.
            if not (-_NOTED_EVERY_S <= now - seen_at < LONGEST_IDLE_S):
                return None
            if now - begun_at >= LONGEST_S:
                return None
            if now - seen_at >= _NOTED_EVERY_S:
                self._database.execute(
                    "UPDATE session SET seen_at = ? WHERE id = ?", (now, session_id)
                )
        return LoginSession(session_id, name, credential)

    def end(self, value: str) -> None:
        """End the session of a cookie, if there is one."""
        with self._lock:
            self._database.execute("DELETE FROM session WHERE id = ?", (_id_of(value),))

    def close(self) -> None:
        """Close the file."""
        with self._lock, closing(self._database):
            pass


def _id_of(value: str) -> str:
    return sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
