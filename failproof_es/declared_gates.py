"""Gates that a dialect declares, in addition to those that every run can have.

A package registers a gate in the entry-point group `failproof_es.gates`. A configuration then
accepts the gate's name under `gates`, and the run is judged by it as by any other gate.
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
    """The key in a configuration and in the record: the name of the entry point."""
    help: str
    """One sentence for the configuration reference."""
    group: Callable[[ModelTally], Group]
    """The model's evaluations that the gate judges. Pure."""
    rate: Literal["accuracy", "success_rate"]
    """`accuracy` is the mean over the evaluations that have one, `success_rate` the mean over all
    finished evaluations, where one without accuracy counts as 0.
    """


def _fault(offered: Any, name: str) -> str | None:
    return plugin_problem(offered, name, ("name", "help", "group", "rate"))


DECLARED: EntryPoints[DeclaredGate] = EntryPoints(
    ENTRY_POINT_GROUP, "gate", _fault, "see docs/how-to/extending.md for what a gate has"
)
"""Every declared gate. Imported when a configuration names it."""
