"""Checks whether a database's read models are those of this version.

The engine's login may assume the projector's role, and so plant code: a view that calls a function
runs it as the reader of the view. The expected digests are in `definitions.json`, made by
`python -m tools.projection_definitions > projections/definitions.json`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources

from failproof_es.store.schema.definitions import (
    Connection,
    SchemaDifference,
    catalog_transaction,
    compare,
    installed,
    required_of,
)
from projections.installed import usable_of_others
from projections.protocol import sql_file
from projections.relations import BUILDING, LIVE


def read_model_differences(connection: Connection) -> list[SchemaDifference]:
    """Objects in the read models' schemas with another owner or definition than this version's.

    Empty if there are none. Ignores relations of installed projections of other packages. A missing
    relation is no difference, because the next follower creates it; a column, a constraint or an
    index that a table lacks is one.
    """
    definitions = installed(connection, [LIVE])
    # Own relations in the schema of rebuilds are skipped: nobody reads them.
    for thing, definition in installed(connection, [BUILDING]).items():
        live = thing.replace(BUILDING, LIVE)
        if live not in expected():
            definitions[thing] = definition
    guests = {relation.name for guest in usable_of_others() for relation in guest.relations}
    definitions = {
        thing: definition
        for thing, definition in definitions.items()
        if _relation_of(thing) not in guests
    }
    own = required_of(connection, definitions, expected())
    expected_definitions = {
        thing: definition for thing, definition in own.items() if thing in definitions
    }
    differences = compare(definitions, expected_definitions)
    with catalog_transaction(connection):
        rows = connection.execute(sql_file("owners"), {"schemas": [LIVE, BUILDING]}).fetchall()
    return [
        *differences,
        *_missing_parts(definitions, own),
        *(SchemaDifference(f"the {thing} belongs to {owner}") for thing, owner in rows),
    ]


def _missing_parts(
    definitions: Mapping[str, str], required: Mapping[str, str]
) -> Iterator[SchemaDifference]:
    """The columns, constraints, indexes and policies that tables in `definitions` lack."""
    for thing in required:
        if thing not in definitions and f"table {LIVE}.{_relation_of(thing)}" in definitions:
            yield SchemaDifference(f"the {thing} is missing")


def _relation_of(thing: str) -> str:
    """The relation in an object's name, such as `column projections.<relation>.<column>`.

    Empty for an object that belongs to no relation.
    """
    kind, _, name = thing.partition(" ")
    return name.rpartition(" on ")[2].split(".")[1] if "." in name and kind != "function" else ""


@cache
def expected() -> dict[str, str]:
    """The digests of the read models' definitions in a fresh database, by name of the object."""
    file = resources.files("projections").joinpath("definitions.json")
    read: dict[str, str] = json.loads(file.read_text("utf-8"))
    return read
