"""The one place that opens connections to a database."""

from __future__ import annotations

from typing import Any

import psycopg

CONNECT_TIMEOUT_S = 10
_OWN_NAMES = "SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false)"
"""A role or a database can be given a search path in which another schema comes before
`pg_catalog`: its functions would then answer in the place of the server's own."""


def connect(url: str, **options: Any) -> psycopg.Connection[Any]:
    """A connection on which a name without a schema means PostgreSQL's own, and nothing else.

    In autocommit unless told otherwise. Raises `psycopg.Error`.
    """
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
    """Do that to a connection that somebody else opened, outside of a transaction."""
    connection.execute(_OWN_NAMES)
