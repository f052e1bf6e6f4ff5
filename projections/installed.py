"""The registry of projections: those of all installed packages, the built-in ones included.

`db init` and the digests of definitions cover ours. Those of other packages are updated in
transactions of their own, so that their failures do not affect ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from failproof_es.problems import InvalidInput, Problem
from failproof_es.support.entry_points import EntryPoints
from failproof_es.support.plugins import instance, plugin_problem
from projections.protocol import Projection

ENTRY_POINT_GROUP = "failproof_es.projections"
_FIRST = ("run_results", "audit_trail")
MEMBERS = ("name", "version", "relations", "topics", "ddl", "apply")
"""The attributes that every projection must have."""


def _find_fault(offered: Any, name: str) -> str | None:
    if fault := plugin_problem(
        offered, name, ("name", "version", "relations", "topics", "ddl", "apply")
    ):
        return fault
    if OFFERED.package_of(name) is None:
        return None
    our_names = {relation.name for projection in ours() for relation in projection.relations}
    clashing = [
        relation.name for relation in instance(offered).relations if relation.name in our_names
    ]
    return f"has relations that are named like ours: {', '.join(clashing)}" if clashing else None


OFFERED: EntryPoints[Any] = EntryPoints(
    ENTRY_POINT_GROUP,
    "projection",
    _find_fault,
    "see docs/how-to/extending.md for what a projection has",
)
"""Every installed projection, by name."""


@cache
def ours() -> tuple[Projection, ...]:
    """The projections of this package: first `run_results` and `audit_trail`."""
    names = [name for name in OFFERED.names() if OFFERED.is_ours(name)]
    names.sort(key=lambda name: _FIRST.index(name) if name in _FIRST else len(_FIRST))
    return tuple(instance(OFFERED.load(name)) for name in names)


def names_of_others() -> tuple[str, ...]:
    """The names of the projections of other packages, usable or not."""
    return tuple(_foreign_names())


def usable_of_others() -> tuple[Projection, ...]:
    """The projections of other packages that can be loaded."""
    return load_foreign_projections()[0]


def load_foreign_projections() -> tuple[tuple[Projection, ...], list[Problem]]:
    """The projections of other packages that can be loaded, and the problems of the rest."""
    projections: list[Projection] = []
    problems: list[Problem] = []
    for name in _foreign_names():
        try:
            projections.append(instance(OFFERED.load(name)))
        except InvalidInput as error:
            problems += error.problems
    return tuple(projections), problems


def _foreign_names() -> Iterator[str]:
    return (name for name in OFFERED.names() if not OFFERED.is_ours(name))
