"""Opens connections to a database: the only place that does."""

from __future__ import annotations

import os
from typing import Any, Self

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import Row

from failproof_es.problems import InvalidInput

CONNECT_TIMEOUT_S = 10
KEEPALIVE: dict[str, int] = {
    "keepalives_idle": 5, "keepalives_interval": 5, "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}  # fmt: skip
"""A server that went silent is noticed within 20 s, whoever waits for its answer. Without them a
client would wait for two hours. A Unix socket needs none of it."""
_OWN_NAMES = "SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false)"
"""A role or a database can be given a search path in which another schema comes before
`pg_catalog`: its functions would then answer in the place of the server's own."""


_OWN_SETTINGS = """
SELECT set_config(own.name, own.value, false)
FROM (VALUES
    ('bytea_output', 'hex'), ('client_encoding', 'UTF8'), ('DateStyle', 'ISO'),
    ('statement_timeout', '0'), ('transaction_timeout', '0'), ('lock_timeout', '0'),
    ('idle_in_transaction_session_timeout', '0'), ('idle_session_timeout', '0'),
    ('tcp_keepalives_idle', '5'), ('tcp_keepalives_interval', '5'), ('tcp_keepalives_count', '3'),
    ('tcp_user_timeout', '15000')
) AS own (name, value)
WHERE current_setting(own.name, true) IS NOT NULL
"""
"""A role can have settings, and set them itself, that change how answers are written or delay
them. `verify` names them; they change nothing on a connection of ours. And the server ends a
session, with the locks that it holds, within 20 s of its client's host going silent. A setting that
a server does not know is left out, each by its name: to look through all of `pg_settings` takes a
third of what making a connection takes."""
_TIME_LIMITS = (
    "statement_timeout",
    "transaction_timeout",
    "lock_timeout",
    "idle_in_transaction_session_timeout",
    "idle_session_timeout",
)
"""What ends a statement or a session. A role's own limit counts from its first statement on, so
it is lifted before that: in the packet that asks for the connection."""
_refused: dict[tuple[str, ...], frozenset[str]] = {}
"""The limits that a server or a pooler does not let a client set while it connects."""


class Connection(psycopg.Connection[Row]):
    """A connection without time limits, from its first statement on, whatever its role sets.

    It notices a server that went silent, unless its URL says otherwise.

    PostgreSQL before 17 does not know `transaction_timeout`, and poolers refuse what they do not
    know. There the connection is made without what was refused, and `use_own_names` lifts the
    limits a moment later. Where a connection service file may name options, they stay as they are.
    """

    @classmethod
    def connect(cls, conninfo: str = "", **kwargs: Any) -> Self:
        """As `psycopg.Connection.connect`. The caller's own options of the server stay."""
        given = {**conninfo_to_dict(conninfo), **kwargs}
        kwargs = {**{name: KEEPALIVE[name] for name in KEEPALIVE if name not in given}, **kwargs}
        if given.get("service") or "PGSERVICE" in os.environ:
            return super().connect(conninfo, **kwargs)
        server = tuple(str(given.get(name, "")) for name in ("host", "hostaddr", "port"))
        before = str(given.get("options") or os.environ.get("PGOPTIONS", ""))
        refused = _refused.get(server, frozenset())
        while True:
            wanted = [name for name in _TIME_LIMITS if name not in refused]
            lifted = [f"-c {name}=0" for name in wanted]
            options = " ".join([*filter(None, [before]), *lifted])
            try:
                connection = super().connect(conninfo, **{**kwargs, "options": options})
            except psycopg.OperationalError as error:
                more = _named_as_refused(str(error), wanted)
                if not more:
                    raise
                refused |= more
            else:
                _refused[server] = refused
                return connection


def _named_as_refused(message: str, wanted: list[str]) -> frozenset[str]:
    """The limits that were refused: all if a pooler refused, the named ones if a server did."""
    if "startup parameter" in message or "options" in message:
        return frozenset(wanted)
    return frozenset(name for name in wanted if name in message)


def parameters_of(url: str) -> dict[str, str]:
    """The parameters of a URL or a connection string, by name.

    Raises `InvalidInput` for one that cannot be read: the server's library would quote it, or
    the piece of a password where it stopped.
    """
    try:
        return {name: str(value) for name, value in conninfo_to_dict(url).items()}
    except psycopg.ProgrammingError:
        raise InvalidInput.because(
            "the database URL cannot be read",
            remedy="write it like postgresql://user@host:5432/name and, in a password, a space as "
            "%20, an @ as %40, a % as %25",
        ) from None


def connect(url: str, **options: Any) -> psycopg.Connection[Any]:
    """Open a connection on which a name without a schema means PostgreSQL's own object.

    In autocommit unless told otherwise. Raises `psycopg.Error`, and `InvalidInput` for a URL
    that cannot be read.
    """
    parameters_of(url)
    autocommit = options.pop("autocommit", True)
    settings = {"connect_timeout": CONNECT_TIMEOUT_S, **options}
    connection: Connection[Any] = Connection.connect(url, autocommit=True, **settings)
    try:
        use_own_names(connection)
    except BaseException:
        connection.close()
        raise
    connection.autocommit = autocommit
    return connection


def use_own_names(connection: psycopg.Connection[Any]) -> None:
    """Let names without a schema mean PostgreSQL's own, on a connection opened elsewhere.

    Settings of its user that could delay or change an answer are reset, too. Call it outside
    of a transaction.
    """
    connection.execute(_OWN_NAMES)
    connection.execute(_OWN_SETTINGS)
