"""Recognises a connection pooler that shares one server session among its clients.

Session locks, prepared statements and settings last as long as a session. A pooler in
transaction or statement mode (PgBouncer) gives a session to another client after every
transaction. Then a lock stays behind on an unknown session, and names of prepared statements
collide with those of other clients.
"""

from __future__ import annotations

from typing import Any

import psycopg

from failproof_es.problems import InvalidInput
from failproof_es.store.connecting import connect

_SESSION = "SELECT pg_catalog.pg_backend_pid()"
_ROUNDS = 8
"""Rounds of the check: in a pool that others use, one client can get the same session twice."""


def require_sessions(connection: psycopg.Connection[Any], url: str) -> None:
    """Raise `InvalidInput` unless the connection, made with `url`, has a session to itself.

    Without a pooler in between this is one query. A pooler in session mode passes.
    """
    own = _session(connection)
    if own == connection.info.backend_pid:
        return  # a pooler gives each client a made-up process number
    with connect(url) as other:
        theirs = _session(other)
        for _ in range(_ROUNDS):
            if own == theirs or _session(other) != theirs or _session(connection) != own:
                raise InvalidInput.because(
                    "unsupported-pooler",
                    "the database URL leads to a connection pooler in transaction or statement "
                    "mode (PgBouncer?), and every command needs a database session of its own",
                    remedy="connect to the PostgreSQL server directly, or to a pool in session "
                    "mode (`pool_mode = session`)",
                )


def _session(connection: psycopg.Connection[Any]) -> int:
    # Not prepared: poolers mix up the names of prepared statements.
    row = connection.execute(_SESSION, prepare=False).fetchone()
    assert row is not None
    session: int = row[0]
    return session
