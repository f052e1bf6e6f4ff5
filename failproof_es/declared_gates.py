"""Gates that a dialect declares, in addition to those that every run can have.

A package names one under the entry-point group `failproof_es.gates`. A configuration then takes
its name under `gates`, and the run is checked against it as against any other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from failproof_es.support.entry_points import EntryPoints
from failproof_es.support.plugins import plugin_problem

if TYPE_CHECKING:
    from failproof_es.core.tally import Group, ModelTally

ENTRY_POINT_GROUP = "failproof_es.gates"


@dataclass(frozen=True, slots=True)
class DeclaredGate:
    """A rate that each model has to reach; its limit is a share from 0 to 1."""

    name: str
    """The key in a configuration, and in the record: the name of its entry point."""
    help: str
    """What it is, in a sentence for the reference of configurations."""
    group: Callable[[ModelTally], Group]
    """The evaluations of a model that it is about. Pure."""
    rate: Literal["accuracy", "success_rate"]
    """What is measured of them: the mean accuracy of those that have one, or of all that are
    finished, where what has none counts as 0."""


def _fault(offered: Any, name: str) -> str | None:
    return plugin_problem(offered, name, ("name", "help", "group", "rate"))


DECLARED: EntryPoints[DeclaredGate] = EntryPoints(
    ENTRY_POINT_GROUP, "gate", _fault, "see docs/how-to/extending.md for what a gate has"
)
"""Every declared gate. Imported when a configuration names it."""
