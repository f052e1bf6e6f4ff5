"""Compares the plan of a run with the registered plan that it follows. Pure.

Works on the JSON of `PlanRegistered` and `RunStarted`, so that the engine and the evidence use it
alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from failproof_es.core.experiment import canonical
from failproof_es.support.plurals import plural

COMPARED = ("dialect", "judges", "models", "planned_evaluations", "selection")
"""The compared fields of both events, besides `configuration` and `experiment`."""


def changed_parts(registered: Mapping[str, Any], started: Mapping[str, Any]) -> tuple[str, ...]:
    """The sorted names of the parts in which the plan of a run differs from the registered one.

    A part is one of `COMPARED`, `experiment` (its two digests), or `configuration.KEY` for a
    top-level key of the configuration. Raises `ValueError` if one payload is not such an event.
    """
    before, after = dict(_parts(registered)), dict(_parts(started))
    return tuple(
        name
        for name in sorted({**before, **after})
        if canonical(before.get(name)) != canonical(after.get(name))
    )


def _parts(payload: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    configuration, experiment = payload.get("configuration"), payload.get("experiment")
    if not isinstance(configuration, dict) or not isinstance(experiment, dict):
        raise ValueError("a plan without a configuration or an experiment")
    for name in COMPARED:
        yield name, payload.get(name)
    yield "experiment", [experiment.get("digest"), experiment.get("questions")]
    for name, value in configuration.items():
        yield f"configuration.{name}", value


def describe(registration_id: str, registered_at: str, runs: int, changed: Sequence[str]) -> str:
    """One phrase about the registration of a run."""
    since = f"changed since: {', '.join(changed)}" if changed else "unchanged since"
    return f"registered at {registered_at} ({registration_id}) for {plural(runs, 'run')}; {since}"
