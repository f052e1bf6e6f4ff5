"""Renders the log's protection layers, for `db init` and `db status`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import psycopg

from failproof_es.cli.rendering.output import Format, print_facts, say
from failproof_es.store.schema.definitions import differences
from failproof_es.store.schema.installation import SchemaState
from failproof_es.store.schema.protection_layers import Layer, missing_layers
from failproof_es.store.store import Store
from failproof_es.store.url_redaction import redact_message
from failproof_es.support.plurals import plural
from failproof_es.support.untrusted_text import one_line
from projections.definitions import read_model_differences


def protection(store: Store) -> tuple[dict[str, Any], Sequence[Layer]]:
    """The state of the schema as facts for JSON, and the missing protection layers.

    The facts have the keys `schema`, `missing_layers` and `not_as_installed`; if the server refuses
    a query, only `error`, and no layer is returned.
    """
    try:
        state = store.state()
        with store.lend() as connection:
            missing = missing_layers(connection)
            # Compared with another version's schema, every object would differ.
            deviations = []
            if state is SchemaState.CURRENT:
                deviations = [*differences(connection), *read_model_differences(connection)]
    except psycopg.Error as error:
        return {"error": redact_message(" ".join(str(error).split()))}, ()
    facts: dict[str, Any] = {
        "schema": state.value,
        "missing_layers": [_facts(layer) for layer in missing],
        "not_as_installed": [deviation.what for deviation in deviations],
    }
    return facts, missing


def print_missing_layers(missing: Sequence[Layer]) -> None:
    """Say on stderr what each missing protection layer would stop, and how to get it."""
    for layer in missing:
        say(f"missing: {layer.name}, which stops {layer.stops}; {layer.remedy}")


def print_differences(deviations: Iterable[str]) -> None:
    """Say on stderr each object of the database that differs from the installed one.

    `deviations` are a description of each.
    """
    for what in deviations:
        say(f"not as installed: {one_line(what)}")


def print_protection(
    facts: dict[str, Any],
    missing: Sequence[Layer],
    output_format: Format,
    *,
    not_permitted: Sequence[str] = (),
) -> None:
    """Print facts on stdout, those of `protection` among them, and the defects on stderr.

    `missing` are the missing layers, `not_permitted` the changes that the server refused.
    """
    print_facts(facts, output_format, for_people=_for_people)
    if output_format is Format.TABLE:
        for problem in not_permitted:
            say(f"not permitted: {problem}")
        print_missing_layers(missing)
        print_differences(facts.get("not_as_installed", ()))


def _for_people(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts of `protection` for a table.

    The missing layers become their names, the objects not as installed their number.
    """
    if "missing_layers" not in facts:
        return facts
    names = ", ".join(layer["name"] for layer in facts["missing_layers"])
    count = plural(len(facts["not_as_installed"]), "object")
    return {**facts, "missing_layers": names or "none", "not_as_installed": count}


def _facts(layer: Layer) -> dict[str, Any]:
    facts = asdict(layer)
    del facts["in_place"]
    return facts
