"""The registry of projections: all that installed packages offer, the built-in ones included.

Ours are what `db init` and the digest of definitions are about. Another package's is followed
beside them, in transactions of its own: whatever becomes of it, ours go on.
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


def _fault(offered: Any, name: str) -> str | None:
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
    _fault,
    "see docs/how-to/extending.md for what a projection has",
)
"""Every projection that can be named."""


@cache
def ours() -> tuple[Projection, ...]:
    """Those of this package: first those that are about all runs."""
    names = [name for name in OFFERED.names() if OFFERED.is_ours(name)]
    names.sort(key=lambda name: _FIRST.index(name) if name in _FIRST else len(_FIRST))
    return tuple(instance(OFFERED.load(name)) for name in names)


def names_of_others() -> tuple[str, ...]:
    """The names of those of other packages, usable or not."""
    return tuple(_theirs())


def usable_of_others() -> tuple[Projection, ...]:
    """Those of other packages that can be loaded."""
    return load_foreign_projections()[0]


def load_foreign_projections() -> tuple[tuple[Projection, ...], list[Problem]]:
    """Those of other packages that can be loaded, and why the rest can't be."""
    projections: list[Projection] = []
    problems: list[Problem] = []
    for name in _theirs():
        try:
            projections.append(instance(OFFERED.load(name)))
        except InvalidInput as error:
            problems += error.problems
    return tuple(projections), problems


def _theirs() -> Iterator[str]:
    return (name for name in OFFERED.names() if not OFFERED.is_ours(name))
