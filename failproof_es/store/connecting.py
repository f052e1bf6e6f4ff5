"""Opens all connections to a database.

Every session has the same settings: client and server notice within 20 s when the other host goes
silent, no setting of the role limits a statement, and a transaction ends after a minute in which
its client does nothing.
"""

from __future__ import annotations

import os
from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import ExecStatus

from failproof_es.problems import InvalidInput

CONNECT_TIMEOUT_S = 10
IDLE_IN_TRANSACTION_S = 60
"""Seconds after which an idle transaction ends: its client was paused, and others may wait for it.
`functions/lock_append.sql` gives less to a transaction that holds up every append."""
_KEEPALIVES = {"keepalives_idle": 5, "keepalives_interval": 5, "keepalives_count": 3}
"""Seconds, seconds, and a number of probes."""
_USER_TIMEOUT = {"tcp_user_timeout": 15_000}
"""In ms."""
_PARAMETERS: dict[str, str | int] = {
    "connect_timeout": CONNECT_TIMEOUT_S, "fallback_application_name": "failproof-es",
    **_KEEPALIVES, **_USER_TIMEOUT,
}  # fmt: skip
"""Defaults, which the URL can override. A silent server is noticed within 20 s; without keepalives
a client would wait for its answer for two hours. A Unix socket needs none."""
_OWN_NAMES = "SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false)"
"""A role or a database can be given a search path in which another schema comes before
`pg_catalog`: its functions would then answer in the place of the server's own."""
_TIME_LIMITS: dict[str, int] = {
    "statement_timeout": 0,
    "transaction_timeout": 0,
    "lock_timeout": 0,
    "idle_in_transaction_session_timeout": IDLE_IN_TRANSACTION_S * 1000,
    "idle_session_timeout": 0,
}
"""Settings that end a statement or a session, in ms. A role's own limit applies from the first
statement on, so these are sent before it: in the startup packet."""
_OF_SERVER = {
    **{f"tcp_{name}": value for name, value in _KEEPALIVES.items()},
    **_USER_TIMEOUT,
    **_TIME_LIMITS,
}
_OWN_SETTINGS = """
SELECT set_config(own.name, own.value, false)
FROM (VALUES
    ('bytea_output', 'hex'), ('client_encoding', 'UTF8'), ('DateStyle', 'ISO'),
    {}
) AS own (name, value)
WHERE current_setting(own.name, true) IS NOT NULL
""".format(", ".join(f"('{name}', '{value}')" for name, value in _OF_SERVER.items()))
"""Replaces settings of a role that change the form of answers or delay them; `verify` reports such
settings. Also lets the server end a session, with its locks, within 20 s of its client's host going
silent. Settings unknown to the server are left out by name: reading `pg_settings` would take a
third of the time of making a connection."""
_OLDEST_VERSION: Final = 150000
"""The oldest supported version of PostgreSQL, as `server_version_num`: 150000 is 15.0."""
_SINCE: Final = {"transaction_timeout": 170000}
"""The first version of PostgreSQL that knows a limit. A server that gets an unknown one in the
startup packet refuses the connection, with FATAL in its log."""
_refused: dict[tuple[str, ...], frozenset[str]] = {}
"""The limits that a server or pooler refuses in the startup packet."""
_versions: dict[tuple[str, ...], int] = {}
"""The version of each server, once a connection to it was made."""


def _open_limited(url: str, parameters: dict[str, Any]) -> psycopg.Connection[Any]:
    """A connection under our own time limits from its first statement on, whatever its role sets.

    Poolers refuse settings that they do not know. Then the connection is made without them, and
    `use_own_names` sets the limits a moment later. With a connection service file, which may set
    `options`, no options are sent.
    """
    all_parameters = {**conninfo_to_dict(url), **parameters}
    parameters = {**{k: v for k, v in _PARAMETERS.items() if k not in all_parameters}, **parameters}
    if all_parameters.get("service") or "PGSERVICE" in os.environ:
        connection = psycopg.Connection.connect(url, autocommit=True, **parameters)
        _require_supported_version(connection)
        return connection
    server = tuple(str(all_parameters.get(name, "")) for name in ("host", "hostaddr", "port"))
    own = str(all_parameters.get("options") or os.environ.get("PGOPTIONS", ""))
    while True:
        limits = _settable(server)
        options = " ".join([*filter(None, [own]), *(f"-c {k}={_TIME_LIMITS[k]}" for k in limits)])
        try:
            connection = psycopg.Connection.connect(
                url, autocommit=True, **{**parameters, "options": options}
            )
        except psycopg.OperationalError as error:
            more = _named_as_refused(str(error), limits)
            if not more:
                raise
            _refused[server] = _refused.get(server, frozenset()) | more
            continue
        _require_supported_version(connection)
        first = server not in _versions
        _versions[server] = connection.info.server_version
        if not first or _lifted(connection, set(_settable(server)) - set(limits)):
            return connection
        connection.close()


def _require_supported_version(connection: psycopg.Connection[Any]) -> None:
    """Close the connection and raise `InvalidInput` if its server is older than `_OLDEST_VERSION`.

    Sends nothing, because a server tells its version first. 0 is a version that libpq cannot read,
    of a pooler: the server behind it may be supported.
    """
    version = connection.info.server_version
    if 0 < version < _OLDEST_VERSION:
        connection.close()
        raise InvalidInput.because(
            "postgresql-too-old",
            f"the server of the database is PostgreSQL {version // 10_000}, which is not supported",
            remedy=f"use PostgreSQL {_OLDEST_VERSION // 10_000} or newer; if a pooler reports that "
            "version for a newer server, connect to the server directly",
        )


def _settable(server: tuple[str, ...]) -> list[str]:
    """The limits that may be in the startup packet to this server."""
    refused, version = _refused.get(server, frozenset()), _versions.get(server, 0)
    return [name for name in _TIME_LIMITS if name not in refused and _SINCE.get(name, 0) <= version]


def _lifted(connection: psycopg.Connection[Any], limits: set[str]) -> bool:
    """Set the limits that could not be sent before the version was known; whether it succeeded.

    A role's `transaction_timeout` of a millisecond can end the session first; the next connection
    sends the limit in its startup packet.
    """
    statement = "; ".join(f"SET {name} = {_TIME_LIMITS[name]}" for name in sorted(limits))
    if not statement:
        return True
    result = connection.pgconn.exec_(statement.encode())
    return result.status == ExecStatus.COMMAND_OK


def _named_as_refused(message: str, limits: list[str]) -> frozenset[str]:
    """The limits that the error refuses: all if it is a pooler's, the named ones if a server's."""
    if limits and ("startup parameter" in message or "options" in message):
        return frozenset(_TIME_LIMITS)
    return frozenset(name for name in limits if name in message)


def parameters_of(url: str) -> dict[str, str]:
    """The parameters of a URL or a connection string, by name.

    Raises `InvalidInput` for an invalid one, because the error of libpq would quote it, and so
    perhaps a part of the password.
    """
    try:
        return {name: str(value) for name, value in conninfo_to_dict(url).items()}
    except psycopg.ProgrammingError:
        raise InvalidInput.because(
            "invalid-url",
            "the database URL cannot be read",
            remedy="write it like postgresql://user@host:5432/name and, in a password, a space as "
            "%20, an @ as %40, a % as %25",
        ) from None


def connect(url: str, **options: Any) -> psycopg.Connection[Any]:
    """Open a connection on which a name without a schema means PostgreSQL's own object.

    In autocommit by default. `options` are those of `psycopg.Connection.connect`. Raises
    `psycopg.Error`, and `InvalidInput` for an invalid URL or a server that is too old.
    """
    parameters_of(url)
    autocommit = options.pop("autocommit", True)
    connection = _open_limited(url, options)
    try:
        use_own_names(connection)
    except BaseException:
        connection.close()
        raise
    connection.autocommit = autocommit
    return connection


def lift_idle_limit(connection: psycopg.Connection[Any]) -> None:
    """Let the present transaction be idle without limit, for a person who reads output page by
    page. It must hold no lock that a writer waits for."""
    connection.execute(LIFT_IDLE_LIMIT)


LIFT_IDLE_LIMIT = "SELECT set_config('idle_in_transaction_session_timeout', '0', true)"


def use_own_names(connection: psycopg.Connection[Any]) -> None:
    """Let names without a schema mean PostgreSQL's own, on a connection opened elsewhere.

    Settings of its user that could delay or change an answer are reset, too. Call it outside
    of a transaction.
    """
    connection.execute(_OWN_NAMES)
    connection.execute(_OWN_SETTINGS)
