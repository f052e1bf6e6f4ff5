"""Opens connections to a database: the only place that does.

Every session of ours is the same, whoever opens it: it notices a server that went silent, the
server notices a host that did, nothing of its role limits a statement, and it holds no transaction
open for longer than a minute while its client does nothing.
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
"""An idle transaction ends after so long: its client was paused, and others may wait for it. Who
holds up every append has less, by `functions/lock_append.sql`."""
_KEEPALIVES = {"keepalives_idle": 5, "keepalives_interval": 5, "keepalives_count": 3}
"""In seconds, and so many."""
_USER_TIMEOUT = {"tcp_user_timeout": 15_000}
"""In ms."""
_PARAMETERS: dict[str, str | int] = {
    "connect_timeout": CONNECT_TIMEOUT_S, "fallback_application_name": "failproof-es",
    **_KEEPALIVES, **_USER_TIMEOUT,
}  # fmt: skip
"""Unless the URL says otherwise. A server that went silent is noticed within 20 s, whoever waits
for its answer. Without the keepalives a client would wait for two hours. A Unix socket needs
none."""
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
"""What ends a statement or a session, in ms. A role's own limit counts from its first statement on,
so it is replaced before that: in the packet that asks for the connection."""
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
"""A role can have settings, and set them itself, that change how answers are written or delay
them. `verify` names them; they change nothing on a connection of ours. And the server ends a
session, with the locks that it holds, within 20 s of its client's host going silent. A setting that
a server does not know is left out, each by its name: to look through all of `pg_settings` takes a
third of what making a connection takes."""
_SINCE: Final = {"transaction_timeout": 170000}
"""The version of PostgreSQL that a limit came with. A server that gets an unknown one in the first
packet refuses the connection, with FATAL in its log."""
_refused: dict[tuple[str, ...], frozenset[str]] = {}
"""The limits that a server or a pooler does not let a client set while it connects."""
_versions: dict[tuple[str, ...], int] = {}
"""The version of each server, once a connection to it was made."""


def _open(url: str, parameters: dict[str, Any]) -> psycopg.Connection[Any]:
    """A connection under our own time limits from its first statement on, whatever its role sets.

    Poolers refuse what they do not know. There the connection is made without what was refused,
    and `use_own_names` sets the limits a moment later. Where a connection service file may name
    options, they stay as they are.
    """
    all_parameters = {**conninfo_to_dict(url), **parameters}
    parameters = {**{k: v for k, v in _PARAMETERS.items() if k not in all_parameters}, **parameters}
    if all_parameters.get("service") or "PGSERVICE" in os.environ:
        return psycopg.Connection.connect(url, autocommit=True, **parameters)
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
        first = server not in _versions
        _versions[server] = connection.info.server_version
        if not first or _lifted(connection, set(_settable(server)) - set(limits)):
            return connection
        connection.close()


def _settable(server: tuple[str, ...]) -> list[str]:
    """The limits that may stand in the first packet to this server."""
    refused, version = _refused.get(server, frozenset()), _versions.get(server, 0)
    return [name for name in _TIME_LIMITS if name not in refused and _SINCE.get(name, 0) <= version]


def _lifted(connection: psycopg.Connection[Any], limits: set[str]) -> bool:
    """Set what could not be asked for before the version was known; whether the session lives.

    A transaction's limit of a millisecond can end it first: the next one asks in its first packet.
    """
    statement = "; ".join(f"SET {name} = {_TIME_LIMITS[name]}" for name in sorted(limits))
    if not statement:
        return True
    result = connection.pgconn.exec_(statement.encode())
    return result.status == ExecStatus.COMMAND_OK


def _named_as_refused(message: str, limits: list[str]) -> frozenset[str]:
    """The limits that were refused: all if a pooler refused, the named ones if a server did."""
    if limits and ("startup parameter" in message or "options" in message):
        return frozenset(_TIME_LIMITS)
    return frozenset(name for name in limits if name in message)


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

    In autocommit unless `autocommit` says otherwise. `options` are those of
    `psycopg.Connection.connect`. Raises `psycopg.Error`, and `InvalidInput` for a URL that cannot
    be read.
    """
    parameters_of(url)
    autocommit = options.pop("autocommit", True)
    connection = _open(url, options)
    try:
        use_own_names(connection)
    except BaseException:
        connection.close()
        raise
    connection.autocommit = autocommit
    return connection


def lift_idle_limit(connection: psycopg.Connection[Any]) -> None:
    """Let the present transaction stay open as long as its reader likes: a person reads a page of
    output after the other. It must hold nothing that a writer waits for."""
    connection.execute(LIFT_IDLE_LIMIT)


LIFT_IDLE_LIMIT = "SELECT set_config('idle_in_transaction_session_timeout', '0', true)"


def use_own_names(connection: psycopg.Connection[Any]) -> None:
    """Let names without a schema mean PostgreSQL's own, on a connection opened elsewhere.

    Settings of its user that could delay or change an answer are reset, too. Call it outside
    of a transaction.
    """
    connection.execute(_OWN_NAMES)
    connection.execute(_OWN_SETTINGS)
