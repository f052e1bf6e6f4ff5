"""Compares the plan of a run with the registered plan that it follows. Pure.

Works on the JSON of `PlanRegistered` and `RunStarted`, so that the engine and the evidence use it
alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from failproof_es.core.experiment import canonical
from failproof_es.support.plurals import plural

COMPARED = (
    "code_version", "dialect", "judges", "models", "packages", "planned_evaluations", "selection",
)  # fmt: skip
"""The compared fields of both events, besides `configuration` and `experiment`."""


def changed_parts(
    registered: Mapping[str, Any], started: Mapping[str, Any], cases: str
) -> tuple[str, ...]:
    """The sorted names of the parts in which the plan of a run differs from the registered one.

    A part is one of `COMPARED`, `cases` (the `set_digest` of the whole cases, which is given),
    `experiment` (its two digests), or `configuration.KEY` for a top-level key of the configuration.
    The code of a class of the user's own is no part. Raises `ValueError` if one payload is not such
    an event.
    """
    started = {**started, "cases": cases}
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
    for name in ("cases", *COMPARED):
        yield name, payload.get(name)
    yield "experiment", [experiment.get("digest"), experiment.get("questions")]
    for name, value in configuration.items():
        yield f"configuration.{name}", value


def describe(registration_id: str, registered_at: str, runs: int, changed: Sequence[str]) -> str:
    """One phrase about the registration of a run."""
    since = f"changed since: {', '.join(changed)}" if changed else "unchanged since"
    return (
        f"registered at {registered_at} by the log's clock ({registration_id}) for "
        f"{plural(runs, 'run')}; {since}"
    )
