"""Builds a report of one or several runs from the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain, starmap
from typing import TypeVar
from uuid import UUID

from failproof_es.catalogue.audit_questions import audit_answers
from failproof_es.catalogue.run_document import run_document
from failproof_es.configuration.gates_section import Gates
from failproof_es.configuration.recorded import recorded_configuration
from failproof_es.core.run import Run
from failproof_es.core.summary import RunSummary
from failproof_es.engine.history import Connection
from failproof_es.events import CaseSkipped, Event, RunSealed
from failproof_es.reading.as_of import read_as_of
from failproof_es.reading.given_reviews import with_reviews
from failproof_es.reading.judge_flips import has_probes, judge_flips
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.report.data import analysis
from failproof_es.report.data.comparison import chosen_unlike, comparisons, pairings
from failproof_es.report.data.conclusions import limitations, verdict
from failproof_es.report.data.content import (
    Cost,
    Failed,
    GateRow,
    Provenance,
    Report,
    Skipped,
)
from failproof_es.report.data.judge_agreement import agreements
from failproof_es.report.data.judge_calibration import judge_calibrations
from failproof_es.report.data.observations import Observation, observations
from failproof_es.report.data.pooling import pool
from failproof_es.store.reading.reader import find

E = TypeVar("E", bound=Event)
Progress = Callable[[str, int, int], None]
"""Is called with the current step, and with how many of how many items are done (0 of 0 where
items are not counted).
"""


def no_progress(step: str, done: int, of: int) -> None:
    """Progress that nobody sees."""


def build_report(
    connection: Connection,
    run_ids: Sequence[UUID],
    progress: Progress = no_progress,
    *,
    pooled: bool = False,
) -> Report:
    """The report of these runs as the log has them now, each run once, in the order given.

    With `pooled`, they are counted together, as one. Raises `InvalidInput` if that cannot be, if a
    run does not exist or is archived, or if its dialect is not installed; `ImpossibleHistory` if
    the record of an evaluation contradicts itself.
    """
    recorded = [RecordedRun.read_events(connection, run_id) for run_id in dict.fromkeys(run_ids)]
    runs = [recorded_run.run for recorded_run in recorded]
    parts = 1 if pooled else len(runs)
    seen = [_observations(recorded_run, parts, progress) for recorded_run in recorded]
    pool_sentence = None
    if pooled:
        seen, pool_sentence = pool([run.started for run in runs], seen)
    everything = [observation for of_run in seen for observation in of_run]
    progress("computing the rates", 0, 0)
    series = analysis.by_series(everything)
    runs_with_judges = {run.started.run_number for run in runs if run.started.judges}
    gates = tuple(gate for run in recorded for gate in _gates(run))
    provenances = tuple(
        _build_provenance(run, of_run) for run, of_run in zip(recorded, seen, strict=True)
    )
    progress("comparing models and runs", 0, 0)
    incomparable = chosen_unlike({one.started.run_number: one.chosen_by_result for one in recorded})
    compared, differences = pairings(series, incomparable), comparisons(series, incomparable)
    progress("comparing judges and people", 0, 0)
    agreement, disagreements = agreements(connection, runs)
    calibrated = tuple(judge_calibrations(connection, runs))
    report = Report(
        made_at=datetime.now(UTC),
        title=", ".join(f"run {run.started.run_number} {run.started.name}" for run in runs),
        verdict=verdict(
            provenances, gates, series, compared, differences, pool_sentence, calibrated
        ),
        gates=gates,
        comparisons=differences,
        pairings=compared,
        failures=tuple(_with_reviews(connection, analysis.failures(everything))),
        heat=tuple(chain.from_iterable(starmap(analysis.heat, series.items()))),
        groups=tuple(chain.from_iterable(starmap(analysis.groups, series.items()))),
        stability=tuple(filter(None, starmap(analysis.stability, series.items()))),
        refusals=tuple(starmap(analysis.refusals, series.items())),
        measures=tuple(chain.from_iterable(starmap(analysis.measures, series.items()))),
        funnels=tuple(
            analysis.funnel(n, of, judged=any(seen.run_number in runs_with_judges for seen in of))
            for n, of in series.items()
        ),
        errors=tuple(starmap(analysis.errors, series.items())),
        judged=tuple(
            judge
            for run, of_run in zip(runs, seen, strict=True)
            for judge in analysis.by_judge(run.started.run_number, of_run)
        ),
        agreement=agreement,
        disagreements=disagreements,
        calibrations=calibrated,
        probed=tuple(flips for run in recorded if has_probes(run) for flips in judge_flips(run)),
        costs=tuple(cost for recorded_run in recorded for cost in costs_of(recorded_run.summary)),
        latencies=tuple(starmap(analysis.latencies, series.items())),
        limitations=(),
        asked=provenances,
        pooled=pool_sentence,
    )
    return limitations(report, series)


def _with_reviews(connection: Connection, failures: Sequence[Failed]) -> Iterator[Failed]:
    reviewed = with_reviews(connection, failures, lambda failed: failed.evaluation_id)
    for failed, reviews in reviewed:
        yield failed.model_copy(update={"reviews": reviews}) if reviews else failed


def _observations(recorded: RecordedRun, runs: int, progress: Progress) -> list[Observation]:
    """The observations of a run; `runs` is the number of runs that are counted apart."""
    read: list[Observation] = []
    started = recorded.started
    for observation in observations(recorded, series_format=_series_format(recorded.run, runs)):
        progress(f"reading run {started.run_number}", len(read), started.planned_evaluations)
        read.append(observation)
    return read


_NO_GATES = (Gates(), Gates(max_unscored_rate=None))


def _series_format(run: Run, runs: int) -> str:
    """Format of a run's series names: `{model}`, or `{model} (run N)` beside other runs.

    `runs` is the number of runs that are counted apart; `{model}` is left for `str.format`.
    """
    return "{model}" if runs == 1 else f"{{model}} (run {run.started.run_number})"


def _gates(run: RecordedRun) -> Iterator[GateRow]:
    for name, gate in run.gates.items():
        interval = gate.get("interval")
        yield GateRow(
            run.started.run_number, name, gate["limit"], gate["measured"], gate["met"],
            gate.get("of"), None if interval is None else tuple(interval), gate.get("why"),
            gate.get("model"),
        )  # fmt: skip


def _build_provenance(recorded: RecordedRun, of: Sequence[Observation]) -> Provenance:
    connection = recorded.connection
    row = connection.execute(
        "SELECT min(notification_id), max(notification_id), count(*) "
        "FROM failproof.stored_events WHERE run_id = %s",
        (recorded.run_id,),
    ).fetchone()
    assert row is not None
    first, last, count = row
    document = run_document(recorded, read_as_of(connection, recorded.reader), newest=None)
    return Provenance(
        run=document,
        audit=audit_answers(recorded, document),
        models_answered=tuple(
            Counter(
                observation.model_answered or "(unnamed)"
                for observation in of
                if observation.answered
            ).most_common()
        ),
        skipped=tuple(
            Skipped(event.path, event.line, event.field, event.why)
            for event in _own_events(connection, recorded.run_id, CaseSkipped)
        ),
        gates_set=recorded_configuration(recorded.started).gates not in _NO_GATES,
        positions=(first, last),
        events=count,
        seal=next(
            (seal.root for seal in _own_events(connection, recorded.run_id, RunSealed)), None
        ),
    )


def _own_events(connection: Connection, run_id: UUID, kind: type[E]) -> Iterator[E]:
    """The events of this type in the run's own stream."""
    for row in find(connection, stream_id=run_id, topics=[kind.__name__]):
        event = row.event()
        if isinstance(event, kind):
            yield event


def costs_of(summary: RunSummary) -> Iterator[Cost]:
    """The cost of each model, then of each judge, that answered in the run or may have.

    Answers of carried-over evaluations do not count.
    """
    run, spending = summary.run, summary.counts.spending
    for model in (*run.started.models, *run.started.judges):
        if (took := spending.get(model.key)) is not None:
            cost = took.cost_usd
            yield Cost(
                run.started.run_number, model.key, took.answers,
                took.input.reported_total, took.output.reported_total,
                None if cost is None else float(cost),
                took.input.unknown, took.output.unknown, took.possibly_charged,
            )  # fmt: skip
