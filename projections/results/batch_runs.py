"""The runs of a batch: folds their streams, and writes their rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self
from uuid import UUID

import orjson

from failproof_es.core.case import prompt_id
from failproof_es.core.costs import Prices
from failproof_es.core.evaluation import EvaluationKey, ImpossibleHistory
from failproof_es.core.run import Run, evolve_run
from failproof_es.events import (
    CasesPlanned,
    PricesRecorded,
    RunStarted,
    topics,
)
from projections.protocol import Cursor, Fact, sql_file, uuid_array, visible
from projections.results.counters import CounterChange
from projections.results.run_rows import run_document, run_of

PLANNING = (RunStarted, CasesPlanned, PricesRecorded)
"""The events that determine a run's evaluations, and their prices."""
RUN_TOPICS = frozenset(topics("run"))


@dataclass
class Runs:
    """The runs that a batch touches."""

    by_id: dict[UUID, Run]
    """Runs with a row, or to get one."""
    untold: set[UUID] = field(default_factory=set)
    """Runs that these tables cannot represent as they are in the log."""
    spoiled: Sequence[UUID] = ()
    """Prompts in whose streams this batch found more than their case."""
    unplaced: list[Fact] = field(default_factory=list)
    changes: dict[UUID, CounterChange] = field(default_factory=dict)
    _planning: dict[UUID, int] = field(default_factory=dict)
    """The last position of an event of a run's plan, by run."""
    _loaded: set[UUID] = field(default_factory=set)

    @classmethod
    def of(cls, cursor: Cursor, streams: Iterable[str]) -> Self:
        """The runs among these streams that have a row in the table `runs`."""
        runs = cls({})
        runs._read_runs(cursor, "{" + ",".join(streams) + "}")
        return runs

    def load(self, cursor: Cursor, run_ids: Iterable[UUID]) -> None:
        """Read the rows of these runs, if they are not read yet."""
        missing = [run_id for run_id in run_ids if run_id not in self._loaded]
        if missing:
            self._loaded.update(missing)
            self._read_runs(cursor, uuid_array(missing))

    def _read_runs(self, cursor: Cursor, run_ids: str) -> None:
        cursor.execute(
            "SELECT run_id, run::text FROM runs WHERE run_id = ANY (%s::uuid[])", (run_ids,)
        )
        rows = cursor.fetchall()
        self.by_id.update({r: run_of(text) for r, text in rows if r not in self.by_id})

    def plans(self, key: EvaluationKey) -> bool:
        """Whether the evaluation's model and repetition are part of its run's plan.

        False if the run has no row. Its case is not checked.
        """
        run = self.by_id.get(key.run_id)
        if run is None:
            return False
        started = run.started
        times = repetitions_of(started)
        within = times is None or 1 <= key.repetition <= times
        return within and any(model.key == key.model_key for model in started.models)

    def repeats(self, run_id: UUID) -> bool:
        """Whether the run asks a case more than once; false for an unknown run."""
        run = self.by_id.get(run_id)
        return run is not None and (repetitions_of(run.started) or 1) > 1

    def prices(self, run_id: UUID) -> Prices:
        """The prices of a run; empty for an unknown run."""
        run = self.by_id.get(run_id)
        return {} if run is None else run.prices

    def take(self, cursor: Cursor, streams: Mapping[UUID, Sequence[Fact]]) -> None:
        """Fold the batch's events of runs, by stream, and write the runs' rows."""
        for stream, facts in streams.items():
            before = self.by_id.get(stream)
            run = before or Run()
            for fact in facts:
                run = self._evolved(stream, run, fact)
                if run.manifest is None:  # no `RunStarted` yet, so there is no row to mark
                    self.unplaced.append(fact)
                    self.untold.discard(stream)
            if run.manifest is None:
                continue
            if before is None:
                self._plan(run)
            self.by_id[stream] = run
            self._write(cursor, stream, run)
        for stream, facts in streams.items():
            for fact in facts:
                if isinstance(fact.event, CasesPlanned):
                    self._write_plan(cursor, stream, fact.event, fact.position)

    def _evolved(self, stream: UUID, run: Run, fact: Fact) -> Run:
        event = fact.event
        if event is None:
            self.untold.add(stream)
            return run
        try:
            run = evolve_run(run, event)
        except (ImpossibleHistory, ValueError):
            self.untold.add(stream)
            return run
        if isinstance(event, PLANNING):
            self._planning[stream] = fact.position
        return run

    def _plan(self, run: Run) -> None:
        started = run.started
        change = self.changes.setdefault(started.originator_id, CounterChange())
        for model in started.models:
            change.planned[model.key] = started.planned_evaluations // len(started.models)

    def _write(self, cursor: Cursor, run_id: UUID, run: Run) -> None:
        started = run.started
        reason = None if run.reason is None else orjson.dumps(run.reason).decode()
        cursor.execute(
            sql_file("run_results_run"),
            {
                "run_id": run_id,
                "run_number": started.run_number,
                "name": visible(started.name),
                "status": run.status,
                "reason": reason,
                "planned": started.planned_evaluations,
                "started_at": started.timestamp,
                "ended_at": run.ended_at,
                "configuration_digest": visible(started.configuration_digest),
                "run": run_document(run),
            },
        )

    def _write_plan(self, cursor: Cursor, run_id: UUID, event: CasesPlanned, position: int) -> None:
        prompts = prompts_of(event.digests)
        array = uuid_array(prompts)
        cursor.execute(sql_file("run_results_plan"), (run_id, position, array))
        new = cursor.rowcount
        row = cursor.execute(
            "SELECT count(*) FROM prompts "
            "WHERE prompt_id = ANY (%s::uuid[]) AND position < %s AND NOT spoiled",
            (array, position),
        ).fetchone()
        if (new, row) != (len(event.digests), (len(event.digests),)):
            self.untold.add(run_id)  # a case appears twice in the plan, or not in the log

    def finish(self, cursor: Cursor, touched: Sequence[tuple[str, int]]) -> None:
        """Mark the runs that the tables cannot represent, after every row is written.

        `touched` has the (stream, last position) of each evaluation that the batch touched.
        """
        if self._planning:
            cursor.execute(
                sql_file("run_results_planned_late"),
                (list(self._planning), list(self._planning.values())),
            )
        if self.spoiled:
            cursor.execute(sql_file("run_results_spoiled"), (list(self.spoiled),))
        if touched:
            cursor.execute(
                sql_file("run_results_changed_sources"),
                (
                    "{" + ",".join([stream for stream, _ in touched]) + "}",
                    "{" + ",".join([str(last) for _, last in touched]) + "}",
                ),
            )
        if self.untold:
            cursor.execute(
                "UPDATE runs SET told = false WHERE run_id = ANY (%s)", (list(self.untold),)
            )


def repetitions_of(started: RunStarted) -> int | None:
    """The number of repetitions that the run's configuration sets; `None` if it sets none."""
    execution: Any = started.configuration.get("execution")
    times = execution.get("repetitions") if isinstance(execution, dict) else None
    return times if isinstance(times, int) else None


def prompts_of(digests: Iterable[str]) -> list[UUID]:
    """The stream ids of the cases with these digests; invalid digests are left out."""
    streams = []
    for digest in digests:
        try:
            streams.append(prompt_id(digest))
        except ValueError:
            continue
    return streams
