"""A database of somebody's own, and which layers are missing in it."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

from failproof_es.store.schema.protection_layers import missing_layers


def given_to(database_url: str, name: str) -> str:
    """The database's URL, after making the login its owner."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(
            sql.SQL("ALTER DATABASE {} OWNER TO {}").format(
                sql.Identifier(connection.info.dbname), sql.Identifier(name)
            )
        )
    return database_url.replace("//postgres@", f"//{name}@")


def names(connection: psycopg.Connection[Any]) -> list[str]:
    return [layer.name for layer in missing_layers(connection)]
