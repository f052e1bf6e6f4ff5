"""Runs for a list: a row for each, and the trend of an experiment's attempts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice, pairwise
from uuid import UUID

from failproof_es.configuration.recorded import repetitions_of
from failproof_es.core.clusters import ClusterSums
from failproof_es.core.run import describe_branch, describe_selection
from failproof_es.core.summary import RunTotals
from failproof_es.core.tally import Group
from failproof_es.engine.annotations import annotations_of
from failproof_es.engine.related_runs.attempts import AttemptNumbers
from failproof_es.engine.reviews.closings import later_gates
from failproof_es.events import RunAnnotated
from failproof_es.reading.archived_list import list_archived
from failproof_es.reading.result_reader import (
    ARCHIVED,
    EVERY_RUN,
    ResultReader,
    RunFilter,
    RunInArchive,
    UnreadableRun,
)
from failproof_es.store.reading.experiments import run_numbers
from failproof_es.store.reading.reader import Connection
from projections.protocol import exact_text

PAGE = 100
"""Number of runs that are read at once."""
MOST_ATTEMPTS = 12
"""Maximum number of attempts in a trend: the newest ones."""


_TRENDS = """
SELECT attempts.experiment, attempts.run_id, attempts.run_number, attempts.place::bigint,
    r.told AND NOT EXISTS (
        SELECT FROM projections.unplaced_events AS u
        WHERE u.run_id = r.run_id
            OR u.run_id IS NULL
            OR NOT EXISTS (SELECT FROM projections.runs AS other WHERE other.run_id = u.run_id)
    ),
    counts.model_key, coalesce(counts.passed, 0)::bigint, coalesce(counts.failed, 0)::bigint
FROM unnest(%(experiments)s::text[]) AS wanted (experiment)
CROSS JOIN LATERAL (
    SELECT * FROM failproof.run_asked_list AS listed
    WHERE (listed.experiment, listed.run_number) <= (wanted.experiment, 9223372036854775807)
        AND listed.experiment >= wanted.experiment
    ORDER BY listed.experiment DESC, listed.run_number DESC
    LIMIT %(most)s
) AS attempts
JOIN projections.runs AS r USING (run_id)
LEFT JOIN LATERAL (
    SELECT model_key, sum(passed) AS passed, sum(failed) AS failed
    FROM projections.run_groups AS g WHERE g.run_id = attempts.run_id GROUP BY model_key
) AS counts ON true
ORDER BY attempts.run_number
"""


_NEWEST_CHOICES = """
SELECT r.run_number, coalesce(a.name, r.name), r.started_at
FROM projections.runs AS r
LEFT JOIN projections.run_annotations AS a USING (run_id)
WHERE r.told AND a.hidden IS NOT TRUE
ORDER BY r.run_number DESC
LIMIT %s
"""


@dataclass(frozen=True, slots=True)
class ModelRate:
    """One model's pass rate and its counts, carried-over evaluations included."""

    model: str
    passed: int
    failed: int
    scored: int
    unscored: int
    """Evaluations that ended without a score."""
    rate: float | None
    """Passed by passed and failed; `None` without either."""
    bounds: tuple[float, ...] | None
    """Rate if all unscored had failed, and if all had passed; `None` without unscored."""
    sums: ClusterSums
    """Sums over cases and families, for the interval of the rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRun:
    """A row of the list of runs. Unknown values are `None`."""

    run_id: UUID
    run_number: int
    name: str | None = None
    status: str
    """The run's status; `archived` or `unreadable` if nothing can be counted."""
    started_at: datetime | None = None
    dialect: str | None = None
    models: tuple[str, ...] = ()
    experiment: str | None = None
    """The digest of the experiment, the same for all of its attempts."""
    attempt: int | None = None
    attempts: int | None = None
    overlapping: int | None = None
    planned: int | None = None
    selection: str | None = None
    """The part of the cases and models that it asked, in words; `None` if it asked all."""
    finished: int | None = None
    passed: tuple[ModelRate, ...] = ()
    gates_met: bool | None = None
    cost_usd: float | None = None
    """`None` if the cost of an answer is unknown."""
    unpriced: tuple[str, ...] = ()
    """The models and judges whose price is unknown."""
    possibly_charged: int | None = None
    """Requests without an answer that may have been charged: `cost_usd` lacks them."""
    problem: str | None = None
    """Why the run is unreadable."""
    archived: str | None = None
    """The place of the run's archive, and how to attach it."""
    who: str | None = None
    repetitions: int = 1
    branch: str | None = None
    """Results that the run may carry over and their run, in words; `None` if there are none."""
    imported: str | None = None
    """The tool that recorded an imported run, in words; `None` for any other run."""
    given_name: str | None = None
    """The name that people gave it, in place of `name`."""
    tags: tuple[str, ...] = ()
    note: str | None = None
    hidden: bool = False
    """Whether lists leave it out. It counts as an attempt."""

    @property
    def unscored(self) -> int | None:
        """Evaluations that ended without a score; `None` if the run cannot be counted."""
        return sum(rate.unscored for rate in self.passed) if self.passed else None

    @property
    def unfinished(self) -> int | None:
        """Planned evaluations that have not ended; of a run that is over they never will."""
        if self.planned is None or self.finished is None:
            return None
        return self.planned - self.finished

    @property
    def is_scored(self) -> bool:
        """Whether all planned evaluations have a score; `False`, too, if nobody can count them."""
        return self.unscored == 0 and self.unfinished == 0

    @property
    def title(self) -> str | None:
        """The name to show: the one that people gave it, else the configured one."""
        return self.given_name or self.name


def list_runs(
    connection: Connection,
    reader: ResultReader,
    *,
    limit: int | None = None,
    before: int | None = None,
    which: RunFilter = EVERY_RUN,
    up_to: int | None = None,
) -> Iterator[ListedRun]:
    """The rows of the runs that match `which`, newest first, at most `limit`.

    With `before`, only runs with smaller numbers. `up_to` is the last position whose annotations
    are shown; `None`: all are. Reads `PAGE` at a time.
    """
    places = AttemptNumbers(connection)
    totals: Iterator[RunTotals | UnreadableRun] = (
        list_archived(connection, which, limit=limit, before=before, up_to=up_to)
        if which.status == ARCHIVED
        else reader.totals(limit=limit, before=before, which=which)
    )
    while page := list(islice(totals, PAGE)):
        attempt_numbers = places.of([run.run_id for run in page])
        sources = _branches(connection, page)
        annotations = annotations_of(connection, [run.run_id for run in page], up_to)
        later = later_gates(connection, [run.run_id for run in page], up_to)
        for run in page:
            listed_run = _list_run(run, *attempt_numbers.get(run.run_id, (None, None)))
            listed_run = replace(listed_run, branch=sources.get(run.run_id))
            if run.run_id in later and isinstance(run, RunTotals | RunInArchive):
                gates = {**(run.run.gates or {}), **later[run.run_id]}
                met = all(gate["met"] for gate in gates.values()) if gates else None
                listed_run = replace(listed_run, gates_met=met)
            yield _annotate(listed_run, annotations.get(run.run_id))


def _annotate(run: ListedRun, annotation: RunAnnotated | None) -> ListedRun:
    if annotation is None:
        return run
    return replace(
        run,
        given_name=annotation.name,
        tags=annotation.tags,
        note=annotation.note,
        hidden=annotation.hidden,
    )


def _branches(connection: Connection, page: Sequence[RunTotals | UnreadableRun]) -> dict[UUID, str]:
    """Results that each branched run of the page may carry over, with their run, by run id."""
    branches = {
        run.run_id: branch
        for run in page
        if isinstance(run, RunTotals | RunInArchive)
        and (branch := run.run.started.branched_from) is not None
    }
    if not branches:
        return {}
    numbers = run_numbers(connection, [branch.run_id for branch in branches.values()])
    return {
        run_id: describe_branch(branch, numbers.get(branch.run_id))
        for run_id, branch in branches.items()
    }


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """One model in one attempt, in the trend of its experiment."""

    run_number: int
    attempt: int
    passed: int
    failed: int
    rate: float | None
    """`None` if nothing passed or failed."""


def trends_of(
    connection: Connection, reader: ResultReader, experiments: Collection[str]
) -> Mapping[tuple[str, str], tuple[TrendPoint, ...]]:
    """The newest attempts of the experiments, in order, by (experiment digest, model key).

    At most `MOST_ATTEMPTS` of each. One query for all. Empty if the reader reads the log, which
    would be folded for each attempt. A run that the projections do not cover is read from the log.
    """
    if reader.source == "log" or not experiments:
        return {}
    trends: defaultdict[tuple[str, str], list[TrendPoint]] = defaultdict(list)
    rows = connection.execute(_TRENDS, {"experiments": list(experiments), "most": MOST_ATTEMPTS})
    counted = rows.fetchall()
    summaries = reader.summaries_of(list(dict.fromkeys(row[1] for row in counted if not row[4])))
    for experiment, _, number, place, is_covered, model, passed, failed in counted:
        if is_covered and model is not None:
            counts = Group(passed=passed, failed=failed)
            trends[experiment, exact_text(model)].append(_point(number, place, counts))
    for experiment, run_id, number, place in dict.fromkeys(row[:4] for row in counted):
        if run_id in summaries:
            for model in summaries[run_id].models:
                group = summaries[run_id].group(model=model)
                trends[experiment, model].append(_point(number, place, group))
    return {
        key: tuple(sorted(points, key=lambda point: point.run_number))
        for key, points in trends.items()
    }


@dataclass(frozen=True, slots=True)
class RunChoice:
    """A run to choose from a list."""

    run_number: int
    name: str
    """The name that people gave it, else the configured one."""
    started_at: datetime


def newest_choices(connection: Connection, most: int) -> tuple[RunChoice, ...]:
    """The newest runs that are not hidden, at most `most`, newest first. Needs the projections."""
    rows = connection.execute(_NEWEST_CHOICES, (most,))
    return tuple(RunChoice(number, exact_text(name), at) for number, name, at in rows)


def change_since_before(trend: Sequence[TrendPoint], run_number: int) -> float | None:
    """The run's rate less that of the attempt before it in the trend; `None` without either."""
    for before, point in pairwise(trend):
        if point.run_number == run_number and None not in (before.rate, point.rate):
            return (point.rate or 0.0) - (before.rate or 0.0)
    return None


def _point(number: int, attempt: int, total: Group) -> TrendPoint:
    return TrendPoint(number, attempt, total.passed, total.failed, total.pass_rate)


def model_rate(model: str, group: Group, sums: ClusterSums) -> ModelRate:
    """The pass rate of one model: `group` counts its evaluations.

    `sums` are its sums over independent cases, for the interval.
    """
    rates = group.bounded_pass_rate
    return ModelRate(
        model=model,
        passed=group.passed,
        failed=group.failed,
        scored=group.scored,
        unscored=group.unscored,
        rate=rates.rate,
        bounds=rates.bounds,
        sums=sums,
    )


def _list_run(
    totals: RunTotals | UnreadableRun, attempt: int | None, attempts: int | None
) -> ListedRun:
    if isinstance(totals, RunInArchive):
        return _archived(totals, attempt, attempts)
    if isinstance(totals, UnreadableRun):
        return ListedRun(
            run_id=totals.run_id,
            run_number=totals.run_number,
            status="unreadable",
            problem=totals.why,
        )
    started, run = totals.run.started, totals.run
    return ListedRun(
        run_id=totals.run_id,
        run_number=started.run_number,
        name=started.name,
        status=run.status,
        started_at=started.timestamp,
        dialect=started.dialect,
        models=tuple(totals.models),
        experiment=started.experiment.digest,
        attempt=attempt,
        attempts=attempts,
        overlapping=started.experiment.overlapping,
        planned=started.planned_evaluations,
        selection=describe_selection(started),
        finished=totals.total.finished,
        passed=tuple(
            model_rate(model, group, totals.clusters[model])
            for model, group in totals.models.items()
        ),
        gates_met=run.gates_met,
        cost_usd=None if totals.cost_usd is None else float(totals.cost_usd),
        unpriced=tuple(key for key, price in (run.prices or {}).items() if not price.rates),
        possibly_charged=sum(one.possibly_charged for one in totals.spending.values()),
        who=started.who,
        repetitions=repetitions_of(started),
        imported=run.imported_from,
    )


def _archived(run: RunInArchive, attempt: int | None, attempts: int | None) -> ListedRun:
    """The row of an archived run, from its own stream and the counts of its end.

    Other values are unknown.
    """
    started, counts = run.run.started, run.run.counts
    return ListedRun(
        run_id=run.run_id,
        run_number=started.run_number,
        name=started.name,
        status=ARCHIVED,
        started_at=started.timestamp,
        dialect=started.dialect,
        models=tuple(model.key for model in started.models),
        experiment=started.experiment.digest,
        attempt=attempt,
        attempts=attempts,
        overlapping=started.experiment.overlapping,
        planned=started.planned_evaluations,
        selection=describe_selection(started),
        finished=None if counts is None else counts.finished,
        gates_met=run.run.gates_met,
        archived=run.why,
        who=started.who,
        imported=run.run.imported_from,
    )
