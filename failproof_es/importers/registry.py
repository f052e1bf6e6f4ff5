"""The registry of importers from installed packages, the built-in ones included."""

from __future__ import annotations

from typing import Any

from failproof_es.importers.protocol import Importer
from failproof_es.support.entry_points import EntryPoints
from failproof_es.support.plugins import instance, plugin_problem

GROUP = "failproof_es.importers"
MEMBERS = ("name", "says", "takes", "cases")


def _fault(offered: Any, name: str) -> str | None:
    return plugin_problem(offered, name, MEMBERS)


IMPORTERS: EntryPoints[Any] = EntryPoints(
    GROUP, "importer", _fault, "see docs/how-to/import.md for what an importer has"
)
"""All importers, each loaded on first use."""


def importer_named(name: str) -> Importer:
    """The importer of that kind. Raises `InvalidInput` if it does not exist or cannot be loaded."""
    loaded: Importer = instance(IMPORTERS.load(name))
    return loaded
