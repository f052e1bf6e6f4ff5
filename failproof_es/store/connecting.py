"""Opens connections to a database: the only place that does."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from failproof_es.problems import InvalidInput

CONNECT_TIMEOUT_S = 10
_OWN_NAMES = "SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false)"
"""A role or a database can be given a search path in which another schema comes before
`pg_catalog`: its functions would then answer in the place of the server's own."""


_OWN_SETTINGS = """
SELECT set_config(own.name, own.value, false)
FROM pg_settings
JOIN (VALUES
    ('bytea_output', 'hex'), ('client_encoding', 'UTF8'), ('DateStyle', 'ISO'),
    ('statement_timeout', '0'), ('transaction_timeout', '0'), ('lock_timeout', '0'),
    ('idle_in_transaction_session_timeout', '0'), ('idle_session_timeout', '0')
) AS own (name, value) USING (name)
"""
"""A role can be given, and give itself, settings with which every answer is written otherwise or
comes too late. `verify` names them; they change nothing on a connection of ours."""


def parameters_of(url: str) -> dict[str, str]:
    """What a URL or a connection string says, by parameter.

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
    """A connection on which a name without a schema means PostgreSQL's own, and nothing else.

    In autocommit unless told otherwise. Raises `psycopg.Error`, and `InvalidInput` for a URL
    that cannot be read.
    """
    parameters_of(url)
    autocommit = options.pop("autocommit", True)
    settings = {"connect_timeout": CONNECT_TIMEOUT_S, **options}
    connection: psycopg.Connection[Any] = psycopg.connect(url, autocommit=True, **settings)
    try:
        use_own_names(connection)
    except BaseException:
        connection.close()
        raise
    connection.autocommit = autocommit
    return connection


def use_own_names(connection: psycopg.Connection[Any]) -> None:
    """Do that to a connection that somebody else opened, outside of a transaction.

    No setting that its user begins with delays or changes an answer, either.
    """
    connection.execute(_OWN_NAMES)
    connection.execute(_OWN_SETTINGS)
