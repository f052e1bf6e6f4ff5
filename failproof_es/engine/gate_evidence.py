"""What some gates need beside the tally: what the run took, and how another run went."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from failproof_es.configuration.schema import Gates
from failproof_es.costs import priced, total
from failproof_es.engine.recorded import read_run
from failproof_es.engine.run_pairs import scores_of_both
from failproof_es.engine.spending import spending_of
from failproof_es.exact import difference
from failproof_es.extras import require
from failproof_es.gates import Change, Spent
from failproof_es.problems import InvalidInput, Problem
from failproof_es.run import Run
from failproof_es.store.reader import Connection, resolve_run


@dataclass(frozen=True, slots=True)
class GateEvidence:
    """Nothing where no gate asks for it."""

    spent: Spent | None = None
    changes: tuple[Change, ...] = ()


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
    require("report", "the gate `no_regression_against`")  # its statistics
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
    """What the run's own answers took; unknown, too, where a model that was asked has no price."""
    prices = run.prices or {}
    unpriced = {each.key for each in run.started.models if not priced(prices, [each.key])}
    validated = run.validation.cost_usd if run.validation is not None else {}
    costs: Mapping[str, Decimal | None] = {
        key: None if cost is None else Decimal(cost) for key, cost in validated.items()
    }
    if not costs:  # it has not ended, or is older, or nothing was answered
        costs = spending_of(connection, run).cost_usd
    unknown = unpriced | {key for key, cost in costs.items() if cost is None}
    return Spent(None if unknown else total(costs.values()), tuple(sorted(unknown)))


def changes_since(connection: Connection, run_id: UUID, against: UUID) -> Iterator[Change]:
    """Each model of a run against the same one of another run, case by case.

    Where each run has one model, these two: a new version goes by another name.
    """
    from failproof_es.statistics import compare_scores  # scipy takes a third of a second

    for each in scores_of_both(connection, run_id, against):
        if not each.pairs:
            yield Change(each.model, 0, 0, each.planned, 0.0, None, each.unpaired)
            continue
        differences = array("d", (difference(pair.now, pair.before) for pair in each.pairs))
        found = compare_scores(differences, [pair.family for pair in each.pairs])
        interval = found.interval
        yield Change(
            each.model,
            len(each.pairs),
            len({pair.prompt_id for pair in each.pairs}),
            each.planned - len(each.pairs),
            found.difference,
            None if interval is None else (interval.low, interval.high),
            each.unpaired,
        )
