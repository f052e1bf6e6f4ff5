"""The costs of a run's answers by purpose, and the costs of other attempts for comparison."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from failproof_es.core.summary import RunSummary
from failproof_es.engine.related_runs.attempts import AttemptNumbers
from failproof_es.events import RunStatus
from failproof_es.reading.result_reader import ResultReader
from failproof_es.store.reading.experiments import list_attempts
from failproof_es.store.reading.reader import Connection
from projections.protocol import exact_text

MOST_ATTEMPTS = 20
"""Maximum number of attempts whose costs are compared: the newest ones."""
_USES = (
    "SELECT model_key, purpose, judge, model_answered, requests, answers_unpriced, input_tokens, "
    "output_tokens, cached_input_tokens, cost_usd FROM projections.cost WHERE run_id = %s "
    'ORDER BY model_key COLLATE "C", purpose DESC, judge COLLATE "C", model_answered COLLATE "C"'
)


@dataclass(frozen=True, slots=True)
class Use:
    """The answers of one model for one purpose, on behalf of one model under test."""

    model: str
    """The model under test."""
    purpose: str | None
    """`target` or `judge`; `None` if the source does not distinguish them."""
    judge: str | None
    answered_as: str | None
    """The model name in the answers; `None` if they have none."""
    answers: int
    unpriced: int
    """Answers of unknown cost."""
    input_tokens: int | None
    output_tokens: int | None
    cached_input_tokens: int | None
    cost_usd: float | None
    """`None` if the cost of an answer is unknown."""


@dataclass(frozen=True, slots=True)
class AttemptCost:
    """The cost of one attempt of the same experiment."""

    run_number: int
    attempt: int
    status: RunStatus
    answers: int
    retries: int
    unpriced: int
    known_usd: float
    cost_usd: float | None
    """`None` if the cost of an answer is unknown."""


def uses_of(connection: Connection, reader: ResultReader, summary: RunSummary) -> list[Use]:
    """The answers of a run by model, purpose, judge and the model name in the answers.

    If the reader reads the log, they are only by the model or judge that was asked.
    """
    if reader.source == "log":
        return list(_by_asked(summary))
    return [
        Use(
            model=exact_text(model),
            purpose=purpose,
            judge=exact_text(judge) or None,
            answered_as=exact_text(answered) or None,
            answers=int(answers),
            unpriced=int(unpriced),
            input_tokens=_whole_number(input_tokens),
            output_tokens=_whole_number(output_tokens),
            cached_input_tokens=_whole_number(cached),
            cost_usd=_usd(cost),
        )
        for (
            model,
            purpose,
            judge,
            answered,
            answers,
            unpriced,
            input_tokens,
            output_tokens,
            cached,
            cost,
        ) in connection.execute(_USES, (summary.run_id,)).fetchall()
    ]


def _by_asked(summary: RunSummary) -> Iterator[Use]:
    judges = {judge.key for judge in summary.run.started.judges}
    for key, spent in sorted(summary.counts.spending.items()):
        yield Use(
            key, None, key if key in judges else None, None, spent.answers, spent.unpriced,
            spent.input.reported_total, spent.output.reported_total,
            spent.cached_input.reported_total, _usd(spent.cost_usd),
        )  # fmt: skip


def attempt_costs(
    connection: Connection, reader: ResultReader, summary: RunSummary
) -> tuple[AttemptCost, ...]:
    """The costs of the newest attempts of the run's experiment in order, this run included.

    At most `MOST_ATTEMPTS`. Only this run if its attempts are not indexed yet, or the reader reads
    the log.
    """
    run_id = summary.run_id
    (place, _) = AttemptNumbers(connection).of([run_id]).get(run_id, (1, 1))
    places: dict[UUID, int] = {run_id: place or 1}
    summaries = {run_id: summary}
    if reader.source != "log":
        attempts = dict(list_attempts(connection, run_id, MOST_ATTEMPTS - 1))
        places |= attempts
        summaries |= reader.summaries_of(list(attempts)) if attempts else {}
    ordered = sorted(summaries.items(), key=lambda pair: places[pair[0]])
    return tuple(_attempt(run_summary, places[run]) for run, run_summary in ordered)


def _attempt(summary: RunSummary, place: int) -> AttemptCost:
    spent = summary.spent
    return AttemptCost(
        run_number=summary.run.started.run_number,
        attempt=place,
        status=summary.run.status,
        answers=spent.answers,
        retries=summary.asking().retries,
        unpriced=spent.unpriced,
        known_usd=float(spent.known_usd),
        cost_usd=_usd(summary.cost_usd),
    )


def _usd(cost: Decimal | None) -> float | None:
    return None if cost is None else float(cost)


def _whole_number(tokens: Decimal | None) -> int | None:
    return None if tokens is None else int(tokens)
