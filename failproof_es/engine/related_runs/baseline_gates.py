"""Gates that compare a run with a baseline run."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from failproof_es.configuration.gates_section import Gates
from failproof_es.core.exact_numbers import difference
from failproof_es.engine.history import read_run
from failproof_es.engine.related_runs.paired_results import (
    RunScores,
    ScoredPair,
    paired_scores,
    read_scores,
)
from failproof_es.gates import Change
from failproof_es.problems import InvalidInput, Problem
from failproof_es.store.reading.archives import require_attached
from failproof_es.store.reading.reader import Connection, resolve_run
from failproof_es.support.extras import require

if TYPE_CHECKING:
    from failproof_es.support.statistics import Paired


def require_extras(limits: Gates) -> None:
    """Raise `InvalidInput` if a gate of `limits` needs an extra that is not installed."""
    if limits.judges_lower_end:
        require("report", "the gate `min_accuracy` with `judge: lower`")  # its statistics
    if limits.no_regression_against is not None:
        require("report", "the gate `no_regression_against`")
    if limits.on_judges:
        require("report", "a gate on judges")


def require_baseline(connection: Connection, limits: Gates, run_id: UUID) -> None:
    """Raise `InvalidInput` if this run's baseline is no longer complete as the run begins.

    Called in the transaction that begins the run: `latest` may be another run by now. Raises
    `RunIsArchived` if the baseline was archived meanwhile.
    """
    if limits.no_regression_against == "latest":
        require_complete(connection, limits, run_id)
    elif limits.no_regression_against is not None:
        require_attached(connection, resolve_run(connection, str(limits.no_regression_against)))


def require_complete(connection: Connection, limits: Gates, run_id: UUID | None = None) -> None:
    """Raise `InvalidInput` if the baseline run does not exist or is not complete.

    With `run_id`, `latest` is the latest run before it. Raises `RunIsArchived` if it is archived.
    """
    reference = str(limits.no_regression_against)
    try:
        against = resolve_run(connection, reference, before=run_id)
    except InvalidInput as error:
        raise _no_such_baseline(error.problems[0].code, error.problems[0].message) from None
    require_attached(connection, against)
    status = read_run(connection, against).status
    if status != "completed":
        raise _no_such_baseline("run-not-completed", f"run {reference} is not complete: {status}")


def _no_such_baseline(code: str, message: str) -> InvalidInput:
    remedy = "name a complete run: `failproof-es runs` lists them"
    return InvalidInput(
        [Problem(code, message, field="gates.no_regression_against", remedy=remedy)]
    )


def changes_since(connection: Connection, limits: Gates, now: RunScores) -> Iterator[Change]:
    """Compare each model of a run (`now`) with the same model of the baseline run, case by case.

    If each run has one model, these two are compared: a new version may have another name. Empty if
    no gate of `limits` asks for it.
    """
    if limits.no_regression_against is None:
        return
    run_id = now.run.started.originator_id
    against = resolve_run(connection, str(limits.no_regression_against), before=run_id)
    for scores in paired_scores(connection, now, read_scores(connection, against)):
        versions = tuple(
            f"{other.grader} {other.first}, before {other.second}"
            for other in scores.other_versions
        )
        if not scores.pairs:
            yield Change(scores.model, 0, 0, scores.planned, 0.0, None, scores.unpaired, versions)
            continue
        paired = _compared(scores.pairs)
        yield Change(
            scores.model,
            len(scores.pairs),
            len({pair.prompt_id for pair in scores.pairs}),
            scores.planned - len(scores.pairs),
            paired.difference,
            _ends(paired),
            scores.unpaired,
            versions,
            len(scores.lost),
            _ends(_compared((*scores.pairs, *scores.lost))) if scores.lost else None,
        )


def _compared(pairs: Sequence[ScoredPair]) -> Paired:
    from failproof_es.support.statistics import compare_scores  # scipy takes a third of a second

    differences = array("d", (difference(pair.now, pair.before) for pair in pairs))
    return compare_scores(differences, [pair.family for pair in pairs])


def _ends(paired: Paired) -> tuple[float, float] | None:
    return None if paired.interval is None else (paired.interval.low, paired.interval.high)
