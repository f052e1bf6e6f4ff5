"""Checks whether a database's read models are those of this version.

The engine's login may take on the projector's role, and so put code where others read: a view
that calls a function runs it as whoever reads the view. What is expected is in
`definitions.json`, made by `python -m tools.projection_definitions > projections/definitions.json`.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources

from failproof_es.store.schema.definitions import (
    Connection,
    SchemaDifference,
    catalog_transaction,
    compare,
    installed,
)
from projections.installed import usable_of_others
from projections.protocol import sql_file
from projections.relations import BUILDING, LIVE


def read_model_differences(connection: Connection) -> list[SchemaDifference]:
    """Objects in the read models' schemas of another owner, or not as this version makes them.

    The relations of other packages' projections that are installed are theirs. Read models that
    are missing are made by whoever follows next: they are no difference.
    """
    definitions = installed(connection, [LIVE])
    # The schema of rebuilds has the same names and is skipped: nobody reads there.
    for thing, definition in installed(connection, [BUILDING]).items():
        live = thing.replace(BUILDING, LIVE)
        if live not in expected():
            definitions[thing] = definition
    guests = {relation.name for guest in usable_of_others() for relation in guest.relations}
    definitions = {
        thing: definition
        for thing, definition in definitions.items()
        if _relation(thing) not in guests
    }
    expected_definitions = {
        thing: definition for thing, definition in expected().items() if thing in definitions
    }
    differences = compare(definitions, expected_definitions)
    with catalog_transaction(connection):
        rows = connection.execute(sql_file("owners"), {"schemas": [LIVE, BUILDING]}).fetchall()
    return [
        *differences,
        *(SchemaDifference(f"the {thing} belongs to {owner}") for thing, owner in rows),
    ]


def _relation(thing: str) -> str:
    """The relation that a definition is about: `column projections.<relation>.<column>`."""
    kind, _, name = thing.partition(" ")
    return name.rpartition(" on ")[2].split(".")[1] if "." in name and kind != "function" else ""


@cache
def expected() -> dict[str, str]:
    """The read models of a fresh database, and the digests of their definitions."""
    file = resources.files("projections").joinpath("definitions.json")
    read: dict[str, str] = json.loads(file.read_text("utf-8"))
    return read
