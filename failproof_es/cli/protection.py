"""What protects the log, told by `db init` and `db status`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import psycopg

from failproof_es.cli.database_url import masked
from failproof_es.cli.output import say
from failproof_es.store.layers import Layer, missing_layers
from failproof_es.store.store import Store


def protection(store: Store) -> tuple[dict[str, Any], Sequence[Layer]]:
    """How the schema stands and the layers that are missing, for a store that may be empty.

    What the server refuses to tell is among the facts as `error`.
    """
    try:
        facts: dict[str, Any] = {"schema": store.state().value}
        with store.connect() as connection:
            missing = missing_layers(connection)
    except psycopg.Error as error:
        return {"error": masked(" ".join(str(error).split()))}, ()
    return {**facts, "missing_layers": [_facts(layer) for layer in missing]}, missing


def say_missing(missing: Sequence[Layer]) -> None:
    """Tell a person what each missing layer would stop, and how to get it."""
    for layer in missing:
        say(f"missing: {layer.name}, which stops {layer.stops}; {layer.remedy}")


def for_people(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts with the layers by their names."""
    if "missing_layers" not in facts:
        return facts
    names = ", ".join(layer["name"] for layer in facts["missing_layers"])
    return {**facts, "missing_layers": names or "none"}


def _facts(layer: Layer) -> dict[str, Any]:
    facts = asdict(layer)
    del facts["in_place"]
    return facts
