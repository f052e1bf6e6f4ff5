"""The costs of a run's answers by purpose, of other attempts for comparison, and of many runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain
from uuid import UUID

from failproof_es.core.costs import Spent
from failproof_es.core.summary import RunSummary, RunTotals
from failproof_es.engine.related_runs.attempts import AttemptNumbers
from failproof_es.events import RunStatus
from failproof_es.reading.archived_list import list_archived
from failproof_es.reading.result_reader import ResultReader, RunFilter, RunInArchive, UnreadableRun
from failproof_es.store.reading.experiments import list_attempts
from failproof_es.store.reading.reader import Connection
from projections.protocol import exact_text

MOST_ATTEMPTS = 20
"""Maximum number of attempts whose costs are compared: the newest ones."""
_USES = (
    "SELECT model_key, purpose, judge, model_answered, requests, answers_unpriced, input_tokens, "
    "output_tokens, cached_input_tokens, cost_usd FROM projections.cost WHERE run_id = %s "
    "AND requests > 0 "
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
    possibly_charged: int
    """Requests without an answer that may have been charged: `cost_usd` lacks them."""


@dataclass(frozen=True, slots=True)
class UnpricedAnswers:
    """The answers of one model or judge whose cost is unknown."""

    model: str
    answers: int
    run_numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TotalCost:
    """The cost of several runs together, without carried-over answers."""

    runs: int
    cost_usd: float | None
    """`None` if the cost of an answer, or of a run, is unknown."""
    known_usd: float
    """The sum of the known costs of answers."""
    answers: int
    unpriced: tuple[UnpricedAnswers, ...]
    possibly_charged: int
    """Requests without an answer that may have been charged."""
    uncounted: tuple[int, ...]
    """Numbers of the runs that are archived or damaged."""
    damaged: tuple[int, ...]
    """Numbers of the runs whose record cannot be read."""


def cost_of_runs(
    connection: Connection, reader: ResultReader, which: RunFilter, before: int | None = None
) -> TotalCost:
    """The cost of the runs that match `which`; with `before`, only of smaller numbers.

    Nobody can say whether `which` chooses a damaged run: it is among them always.
    """
    runs: Iterator[RunTotals | UnreadableRun] = reader.totals(before=before, which=which)
    if which.chooses:  # else they are among the others
        everything = reader.totals(before=before, which=RunFilter(hidden=which.hidden))
        runs = chain(
            (run for run in runs if not is_damaged(run)),
            list_archived(connection, which, before=before),
            filter(is_damaged, everything),
        )
    return total_cost(runs)


def is_damaged(run: RunTotals | UnreadableRun) -> bool:
    """Whether the run's record cannot be read although it is not archived."""
    return isinstance(run, UnreadableRun) and not isinstance(run, RunInArchive)


def total_cost(runs: Iterable[RunTotals | UnreadableRun]) -> TotalCost:
    """The sum of the costs of these runs' answers, judges' included."""
    total, count = Spent(), 0
    unpriced: defaultdict[str, dict[int, int]] = defaultdict(dict)
    uncounted: list[int] = []
    damaged: list[int] = []
    for run in runs:
        count += 1
        if isinstance(run, UnreadableRun):
            uncounted.append(run.run_number)
            if is_damaged(run):
                damaged.append(run.run_number)
            continue
        for key, spent in run.spending.items():
            total.include(spent)
            if spent.unpriced:
                unpriced[key][run.run.started.run_number] = spent.unpriced
    return TotalCost(
        runs=count,
        cost_usd=None if uncounted else _usd(total.cost_usd),
        known_usd=float(total.known_usd),
        answers=total.answers,
        unpriced=tuple(
            UnpricedAnswers(key, sum(of_runs.values()), tuple(sorted(of_runs)))
            for key, of_runs in sorted(unpriced.items())
        ),
        possibly_charged=total.possibly_charged,
        uncounted=tuple(sorted(uncounted)),
        damaged=tuple(sorted(damaged)),
    )


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
        if not spent.answers:
            continue
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
        possibly_charged=spent.possibly_charged,
    )


def _usd(cost: Decimal | None) -> float | None:
    return None if cost is None else float(cost)


def _whole_number(tokens: Decimal | None) -> int | None:
    return None if tokens is None else int(tokens)
