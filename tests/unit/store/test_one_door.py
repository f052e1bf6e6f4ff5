"""Every connection of the product is made by `store/connecting.py`, with the same settings."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg_pool
import pytest

import failproof_es
from failproof_es.store.writing.application import datastore

ROOT = Path(failproof_es.__file__).parent.parent
PACKAGES = ("failproof_es", "projections", "tools")
STORES = {"PostgresDatastore", "PostgresFactory"}
OTHER_DRIVERS = {"asyncpg", "pg8000", "psycopg2", "psycopg_pool", "sqlalchemy"}
WORDS = {"connect", "ConnectionPool", "PsycopgConnector", *OTHER_DRIVERS, *STORES}
"""A source without any of these has no door, and is not parsed."""
DOORS = {
    "failproof_es/store/connecting.py": {"Connection"},
    "failproof_es/store/writing/application.py": STORES,
}
"""The last one makes an object that opens no connection: a test below holds it to it."""


def doors(source: str) -> Iterator[str]:
    """What in this source makes connections, or inherits from what does."""
    if not any(word in source for word in WORDS):
        return
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from {name.name.split(".")[0] for name in names} & OTHER_DRIVERS
            case ast.ImportFrom(module=str(module)) if module.split(".")[0] in OTHER_DRIVERS:
                yield module.split(".")[0]
            case ast.Call(func=ast.Attribute(value=owner, attr="connect")):
                name = _last(owner)
                if name == "psycopg" or name.endswith("Connection"):
                    yield name
            case ast.Call(func=made) if _is_door(_last(made)):
                yield _last(made)
            case ast.ClassDef(bases=bases):
                yield from (_last(base) for base in bases if _is_door(_last(base)))


def _is_door(name: str) -> bool:
    return name.endswith(("ConnectionPool", "PsycopgConnector")) or name in STORES


def _last(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value):
            return _last(value)
    return ""


@pytest.mark.parametrize(
    "source",
    [
        "psycopg.connect(url)",
        "psycopg.Connection.connect(url)",
        "await psycopg.AsyncConnection.connect(url)",
        "class Own(psycopg_pool.ConnectionPool): ...",
        "AsyncConnectionPool[Any](url)",
        "procrastinate.PsycopgConnector(conninfo=url)",
        "PostgresDatastore()",
        "from psycopg_pool import ConnectionPool as Pool",
        "import asyncpg",
    ],
)
def test_a_door_is_recognised(source: str) -> None:
    assert list(doors(source))


@pytest.mark.slow
def test_nothing_but_the_one_place_makes_connections() -> None:
    files = [file for name in PACKAGES for file in (ROOT / name).rglob("*.py")]
    assert len(files) > 300
    found = {
        file.relative_to(ROOT).as_posix(): made
        for file in files
        if (made := set(doors(file.read_text("utf-8"))))
    }
    assert found == DOORS


def test_the_store_of_the_log_has_no_pool_of_the_package() -> None:
    store = datastore("postgresql://nobody@/nothing")
    pool: Any = store.pool
    assert not isinstance(pool, psycopg_pool.ConnectionPool)
    pool.open(wait=True, timeout=0.0)  # opens nothing: there is no such server
