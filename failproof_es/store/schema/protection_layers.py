"""The protection layers of a log in a database, and what each one stops.

Read from the catalog, as the connected user: `least privilege` is about that user.
`docs/concepts/guarantees.md` lists what no layer stops.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import psycopg
from psycopg.rows import dict_row

from failproof_es.store.schema.definitions import catalog_transaction, differences
from failproof_es.store.writing.recorder import query


@dataclass(frozen=True, slots=True)
class Layer:
    """One protection. `remedy` is how to get it if it is missing."""

    name: str
    stops: str
    remedy: str
    in_place: bool = False


_LAYERS = {
    "owner": Layer(
        "owner without a login",
        "the engine, auditors and whoever stole their passwords from being the owner",
        "run `failproof-es db init` as a user who may create roles",
    ),
    "least_privilege": Layer(
        "least privilege",
        "this very connection from writing to the log in any other way than by appending",
        "connect as a user who has the role failproof_writer (or failproof_auditor, to read) "
        "and is neither superuser nor owner",
    ),
    "one_way_in": Layer(
        "one way in",
        "events that are not checked against the lease, or not counted, when they are appended",
        "run `failproof-es db init`",
    ),
    "immutable_rows": Layer(
        "immutable rows",
        "UPDATE, DELETE and TRUNCATE by anyone, in every replication mode",
        "run `failproof-es db init`; if it stays missing, somebody disabled a trigger",
    ),
    "as_installed": Layer(
        "nothing in between",
        "views, functions, rules, policies, triggers, defaults and settings that are not ours "
        "from hiding, swallowing, adding or changing rows",
        "look at what is named, and run `failproof-es db init`, which installs views and "
        "functions again",
    ),
    "guarded_schema": Layer(
        "guarded schema",
        "ALTER, DROP, rules, policies, table rewrites and grants by the owner or a superuser",
        "run `failproof-es db init` as a superuser: event triggers need one",
    ),
}


def layers(connection: psycopg.Connection[Any]) -> list[Layer]:
    """Every layer, and whether it is in place."""
    with catalog_transaction(connection), connection.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(query("layers")).fetchone()
    assert row is not None
    row["as_installed"] = not differences(connection)
    return [replace(layer, in_place=row[name] is True) for name, layer in _LAYERS.items()]


def missing_layers(connection: psycopg.Connection[Any]) -> list[Layer]:
    """The layers that are not in place. Empty when all are."""
    return [layer for layer in layers(connection) if not layer.in_place]
