"""What some gates need beside the tally: what the run took, and how another run went."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple
from uuid import UUID

from failproof_es.configuration.schema import Gates
from failproof_es.costs import total
from failproof_es.engine.carried_over import followed
from failproof_es.engine.recorded import WINDOW, read_run, stored_case
from failproof_es.engine.spending import spending_of
from failproof_es.events import CarriedOver, Event, Scored
from failproof_es.gates import Change, Spent
from failproof_es.problems import InvalidInput, Problem
from failproof_es.run import Run
from failproof_es.store.reader import Connection, find, portions, read_streams, resolve_run


@dataclass(frozen=True, slots=True)
class GateEvidence:
    """Nothing where no gate asks for it."""

    spent: Spent | None = None
    changes: tuple[Change, ...] = ()


class Asked(NamedTuple):
    """The same question, put to a model for the n-th time."""

    prompt_id: UUID
    repetition: int


def gate_evidence(connection: Connection, limits: Gates, run_id: UUID) -> GateEvidence:
    """What these gates need to know of a run whose evaluations are all finished."""
    spent: Spent | None = None
    changes: tuple[Change, ...] = ()
    if limits.max_cost_usd is not None:
        spent = spent_by(connection, read_run(connection, run_id))
    if limits.no_regression_against is not None:
        against = resolve_run(connection, str(limits.no_regression_against))
        changes = tuple(changes_since(connection, run_id, against))
    return GateEvidence(spent, changes)


def check_gates(connection: Connection, limits: Gates) -> None:
    """Raises `InvalidInput` where a gate compares with a run that is none or is not complete."""
    if limits.no_regression_against is None:
        return
    try:
        against = resolve_run(connection, str(limits.no_regression_against))
    except InvalidInput as error:
        raise _no_such_baseline(error.problems[0].message) from None
    status = read_run(connection, against).status
    if status != "completed":
        raise _no_such_baseline(f"run {limits.no_regression_against} is not complete: {status}")


def _no_such_baseline(message: str) -> InvalidInput:
    remedy = "name a complete run: `failproof-es runs` lists them"
    return InvalidInput([Problem(message, field="gates.no_regression_against", remedy=remedy)])


def spent_by(connection: Connection, run: Run) -> Spent:
    """What the run's own answers took."""
    costs = spending_of(connection, run).cost_usd
    unknown = tuple(sorted(key for key, cost in costs.items() if cost is None))
    return Spent(total(costs.values()), unknown)


def changes_since(connection: Connection, run_id: UUID, against: UUID) -> Iterator[Change]:
    """Each model of a run against the same one of another run, case by case.

    Where each run has one model, these two: a new version goes by another name.
    """
    run, other = (read_run(connection, each).started for each in (run_id, against))
    models = [model.key for model in run.models]
    others = [model.key for model in other.models]
    alone = len(models) == len(others) == 1
    planned = run.planned_evaluations // len(models)
    now, before = accuracies(connection, run_id), accuracies(connection, against)
    for model in models:
        counterpart = others[0] if alone else model
        yield _change(connection, model, planned, now.get(model, {}), before.get(counterpart, {}))


def _change(
    connection: Connection,
    model: str,
    planned: int,
    now: dict[Asked, float],
    before: dict[Asked, float],
) -> Change:
    from failproof_es.statistics import compare_scores  # scipy takes a third of a second

    both = [asked for asked in now if asked in before]
    if not both:
        return Change(model, 0, 0, planned, 0.0, None)
    families = _families(connection, list(dict.fromkeys(asked.prompt_id for asked in both)))
    found = compare_scores(
        array("d", (now[asked] - before[asked] for asked in both)),
        [families[asked.prompt_id] for asked in both],
    )
    interval = None if found.interval is None else (found.interval.low, found.interval.high)
    return Change(model, len(both), len(families), planned - len(both), found.difference, interval)


def accuracies(connection: Connection, run_id: UUID) -> dict[str, dict[Asked, float]]:
    """By model: the accuracy of everything that was scored, carried over or not."""
    found: dict[str, dict[Asked, float]] = {}
    for event in _scored(connection, run_id):
        accuracy = event.scores.get("accuracy")
        if accuracy is not None:
            asked = Asked(event.prompt_id, event.repetition)
            found.setdefault(event.model_key, {})[asked] = accuracy
    return found


def _scored(connection: Connection, run_id: UUID) -> Iterator[Scored]:
    carried_over: list[CarriedOver] = []
    topics = [Scored.__name__, CarriedOver.__name__]
    for row in find(connection, run_id=run_id, topics=topics):
        event: Event = row.event()
        if isinstance(event, Scored):
            yield event
        elif isinstance(event, CarriedOver):
            carried_over.append(event)
    remaining = iter(carried_over)
    while window := list(islice(remaining, WINDOW)):
        for history in followed(connection, window).values():
            yield from (event for event in history if isinstance(event, Scored))


def _families(connection: Connection, prompts: list[UUID]) -> dict[UUID, tuple[str, str]]:
    """What each prompt is not independent of."""
    found: dict[UUID, tuple[str, str]] = {}
    remaining = iter(prompts)
    while window := list(islice(remaining, WINDOW)):
        for portion in portions(connection, window):
            for prompt, rows in read_streams(connection, portion).items():
                found[prompt] = stored_case(rows).family
    return found
