"""The registry of exporters: those of this package and of every installed one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

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
