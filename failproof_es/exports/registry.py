"""The registry of exporters: those of this package and of every installed one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from failproof_es.dialects.protocol import CollectionExport, Exporting
from failproof_es.dialects.registry import dialect_named, names
from failproof_es.exports.exporter import Exporter
from failproof_es.problems import InvalidInput
from failproof_es.support.entry_points import EntryPoints
from failproof_es.support.plugins import instance, plugin_problem

ENTRY_POINT_GROUP = "failproof_es.exporters"


def _fault(offered: Any, name: str) -> str | None:
    return plugin_problem(offered, name, ("name", "says", "with_settings", "files"))


EXPORTERS: EntryPoints[Any] = EntryPoints(
    ENTRY_POINT_GROUP,
    "exporter",
    _fault,
    "see docs/how-to/extending.md for what an exporter has",
)
"""Every exporter; each is imported when it is named."""


def exporter_named(name: str) -> Exporter:
    """The exporter of this name.

    Raises `InvalidInput` if there is none, or if it cannot be loaded.
    """
    exporter: Exporter = instance(EXPORTERS.load(name))
    return exporter


def usable_exporters() -> Iterator[Exporter]:
    """Every exporter that can be loaded; a broken one is skipped."""
    for name in EXPORTERS.names():
        with suppress(InvalidInput):
            yield exporter_named(name)


def shape_names() -> list[str]:
    """The names of all shapes: those of exporters, then those of dialects."""
    return [*EXPORTERS.names(), *dialect_exports()]


def dialect_exports() -> dict[str, tuple[str, CollectionExport]]:
    """The export shapes that dialects declare, by name, each with its dialect.

    The first dialect counts if two declare one name, and an exporter's name counts before both.
    """
    shapes: dict[str, tuple[str, CollectionExport]] = {}
    for name in names():
        with suppress(InvalidInput):  # a broken dialect is reported when it is named
            dialect = dialect_named(name)
            if isinstance(dialect, Exporting):
                for shape, dialect_export in dialect.exports.items():
                    if shape not in EXPORTERS:
                        shapes.setdefault(shape, (name, dialect_export))
    return shapes
