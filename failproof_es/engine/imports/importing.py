"""Records a run of another tool: its plan, its answers, their grading, its end.

Everything is read before anything is recorded. An interrupted import is completed by importing the
same source again: the run's id follows from the source's digest.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID, uuid4

from failproof_es.configuration.gates_section import Gates
from failproof_es.core.case import run_id as run_id_of
from failproof_es.core.evaluation import NO_JUDGES, Evaluation
from failproof_es.core.evolution import evolve
from failproof_es.core.run import Run, chunked, fold_run
from failproof_es.core.tally import Tally
from failproof_es.dialects import dialect_named
from failproof_es.engine.drive.grading.grader import Grader
from failproof_es.engine.drive.retrying_reader import RetryingReader
from failproof_es.engine.drive.run_stream import Observe, RunStream
from failproof_es.engine.drive_outcome import Outcome
from failproof_es.engine.finish.finalize import scan, seal
from failproof_es.engine.finish.live_checks import LiveChecks
from failproof_es.engine.history import (
    RecordedEvaluation,
    iterate_evaluations,
    read_chunk,
    read_run,
)
from failproof_es.engine.identity import (
    code_version,
    current_host,
    current_user,
    process_label,
    versions_of_ours,
)
from failproof_es.engine.imports.gathering import GatheredRun, gather
from failproof_es.engine.planning.planner import store_documents
from failproof_es.engine.unfinished import read_unfinished
from failproof_es.events import (
    AnswerImported,
    CasesPlanned,
    EvaluationEvent,
    ModelSnapshot,
    PricesRecorded,
    RunCompleted,
    RunImported,
    RunResumed,
    RunStarted,
    SuiteSnapshot,
)
from failproof_es.problems import InvalidInput
from failproof_es.recorded_runs.records import ForeignRun
from failproof_es.store.reading.archives import require_attached
from failproof_es.store.reading.reader import Connection, iterate_stream
from failproof_es.store.store import Store
from failproof_es.store.writing.event_header import Draft, EventHeader, to_events
from failproof_es.store.writing.journal import Journal
from failproof_es.store.writing.lease import Lease

DIALECT = "checks"
"""The dialect of every imported case."""
_AT_ONCE = 50
"""Number of evaluations that are recorded together."""


@dataclass(frozen=True, slots=True)
class ImportOutcome:
    """The outcome of an import: the run's state, and its event `RunImported`."""

    run: Outcome
    imported: RunImported
    already: bool
    """Whether the complete run was on record before: then nothing was recorded."""


async def import_run(
    source: ForeignRun,
    store: Store,
    *,
    again: bool = False,
    observe: Observe = lambda event: None,
) -> ImportOutcome:
    """Import a run that another tool recorded, or complete an import that was interrupted.

    A source that is on record already is not imported again, unless `again`; `observe` is called
    with each recorded event. Raises `InvalidInput` before anything is recorded if the source cannot
    be read or holds no answer, and if another version of this program began the import with another
    plan; `RunBusy` while another process imports it.
    """
    run_id = uuid4() if again else imported_id(source.kind, source.source_sha256)
    before = await asyncio.to_thread(_read_run, store, run_id)
    if before is not None and before.sealed:
        return _outcome(before, already=True)
    gathered = await asyncio.to_thread(gather, source)
    try:
        with Lease(store.url, run_id, process_label()) as lease:
            await asyncio.to_thread(lease.acquire)
            before = await asyncio.to_thread(_read_run, store, run_id)
            if before is None:
                observe(await asyncio.to_thread(_begin, store, run_id, gathered))
            else:
                await asyncio.to_thread(_require_same_plan, store, before, gathered)
            importing = _Importing(store, lease, gathered, observe)
            run = await importing.carry_on(resumed=before is not None)
        return _outcome(run, already=False)
    finally:
        gathered.close()


def imported_id(kind: str, source_sha256: str) -> UUID:
    """The run id for this source: the same on every machine, so that a source is imported once.

    `kind` is the kind of source, `source_sha256` its digest.
    """
    return run_id_of(f"import\n{kind}\n{source_sha256}")


def _outcome(run: Run, *, already: bool) -> ImportOutcome:
    assert run.imported is not None
    return ImportOutcome(Outcome.of(run, interrupted=False), run.imported, already)


def _read_run(store: Store, run_id: UUID) -> Run | None:
    """The run, folded from the events on record; `None` if there are none.

    Raises `RunIsArchived` if it is archived.
    """
    with store.lend() as connection:
        require_attached(connection, run_id)
        run = fold_run(row.event() for row in iterate_stream(connection, run_id))
    return run if run.version else None


# -- the plan ----------------------------------------------------------------------------------


def _begin(store: Store, run_id: UUID, gathered: GatheredRun) -> RunStarted:
    """Record the run with its number and its whole plan, in one transaction.

    Returns the event that begins it.
    """
    store_documents(store, gathered.cases.spool)
    source, cases = gathered.source, gathered.cases.planned_cases
    models = tuple(
        ModelSnapshot(
            key=name,
            provider="imported",
            model=name,
            parameters=dict(source.parameters.get(name, {})),
        )
        for name in gathered.models
    )
    configuration = _configuration(source, gathered, models)
    draft = RunStarted(
        originator_id=run_id,
        originator_version=1,
        run_id=run_id,
        timestamp=datetime.now(UTC),
        name=source.name,
        run_number=0,
        attempt=0,
        experiment=cases.experiment(configuration, models, ()),
        configuration=configuration,
        configuration_digest=source.source_sha256,
        models=models,
        suites=tuple(
            SuiteSnapshot(
                path=file.name,
                sha256=file.sha256,
                dialect=DIALECT,
                cases=len(cases) if len(source.files) == 1 else 0,
            )
            for file in source.files
        ),
        dialect=DIALECT,
        planned_cases=len(cases),
        planned_evaluations=gathered.planned,
        code_version=code_version(),
        packages=versions_of_ours(),
        who=current_user(),
        where=current_host(),
    )
    planned = to_events(_plan_events(EventHeader.of_run(run_id), gathered), {run_id: 1})
    return store.begin_run(draft, planned, cases.questions_asked)


def _configuration(
    source: ForeignRun, gathered: GatheredRun, models: Sequence[ModelSnapshot]
) -> dict[str, Any]:
    """The recorded configuration of an imported run: its source, models and repetitions."""
    return {
        "test_run": {"name": source.name},
        "prompts": {"path": [file.name for file in source.files], "dialect": DIALECT},
        "models": [
            {"key": model.key, "provider": model.provider, "model": model.model} for model in models
        ],
        "execution": {"repetitions": gathered.repetitions, "retry_attempts": 0},
        "imported": {
            "kind": source.kind,
            "tool": source.tool,
            "tool_version": source.tool_version,
            "source_sha256": source.source_sha256,
        },
    }


def _plan_events(header: EventHeader, gathered: GatheredRun) -> Iterator[Draft]:
    cases, source = gathered.cases.planned_cases, gathered.source
    questions = chunked(cases.questions())
    for chunk, digests in enumerate(chunked(cases.digests())):
        yield Draft(CasesPlanned, header, chunk=chunk, digests=digests, questions=next(questions))
    yield Draft(PricesRecorded, header, models=())
    yield Draft(
        RunImported,
        header,
        kind=source.kind,
        tool=source.tool,
        tool_version=source.tool_version,
        source_sha256=source.source_sha256,
        files=source.files,
        began_at=source.began_at,
        ended_at=source.ended_at,
        answers=len(gathered.answers),
        absent=gathered.planned - len(gathered.answers),
        unmapped=source.remainder.all(),
        claims=dict(source.claims),
        who=current_user(),
        where=current_host(),
        code_version=code_version(),
    )


def _require_same_plan(store: Store, run: Run, gathered: GatheredRun) -> None:
    """Raise `InvalidInput` unless the recorded plan equals the plan of the source as read now."""
    started = run.started
    with store.lend() as connection:
        chunks = (
            read_chunk(connection, started.originator_id, number) for number in range(run.chunks)
        )
        digests = [digest for chunk in chunks for digest in chunk]
    same = (
        digests == list(gathered.cases.planned_cases.digests())
        and [model.key for model in started.models] == gathered.models
        and started.planned_evaluations == gathered.planned
    )
    if not same:
        raise InvalidInput.because(
            "version-mismatch",
            f"run {started.run_number} is an import of this source that was not completed, by "
            f"version {started.code_version}, which read it otherwise",
            remedy="complete it with that version, or import the source anew with --again",
        )


# -- the answers -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Importing:
    store: Store
    lease: Lease
    gathered: GatheredRun
    observe: Observe

    async def carry_on(self, *, resumed: bool) -> Run:
        """Record every answer that is not on record yet, and end and seal the run.

        `resumed` says that an earlier import of the source was interrupted.
        """
        reader = RetryingReader(self.store)
        run = await reader.read(read_run, self.lease.run_id)
        checks = LiveChecks(run, scores=False)
        journal = Journal(
            self.store.log,
            lease=self.lease,
            outage=self.store.outage,
            on_commit=checks.committed,
        )
        stream = RunStream(run, journal, self.observe)
        try:
            reading = None
            if not run.ended:
                if resumed:
                    await stream.record(
                        RunResumed,
                        who=current_user(),
                        where=current_host(),
                        code_version=code_version(),
                        packages=versions_of_ours(),
                    )
                tally = await self._record_all(run, reader, journal, checks)
                reading = await scan(stream, reader, Gates(), checks)
                # The gates of this program do not apply to a run of another tool.
                await stream.record(RunCompleted, counts=tally.counts(), gates={})
            if stream.run.ended:
                await seal(stream, reader, reading)
        finally:
            await journal.close()
        return stream.run

    async def _record_all(
        self, run: Run, reader: RetryingReader, journal: Journal, checks: LiveChecks
    ) -> Tally:
        grader = Grader(dialect_named(run.started.dialect), NO_JUDGES, retry_attempts=0)
        tally = Tally(run.started.planned_evaluations)
        models = [model.key for model in run.started.models]
        chunk = 0
        while chunk < run.chunks:
            unfinished = await reader.read(read_unfinished, run, chunk, models)
            chunk = unfinished.next_chunk
            tally.scored += unfinished.scored
            tally.abandoned += unfinished.abandoned
            for first in range(0, len(unfinished.keys), _AT_ONCE):
                keys = unfinished.keys[first : first + _AT_ONCE]
                window = await reader.read(_evaluations, keys)
                record = partial(self._record, journal, grader, checks)
                for evaluation in await asyncio.gather(*map(record, window)):
                    tally.add(evaluation)
        return tally

    async def _record(
        self,
        journal: Journal,
        grader: Grader,
        checks: LiveChecks,
        recorded: RecordedEvaluation,
    ) -> Evaluation:
        """Record one answer together with its grading, in one transaction.

        Returns the graded evaluation.
        """
        state = recorded.state()
        header = EventHeader.of_evaluation(recorded.key)
        events: list[EvaluationEvent] = []
        checks.begin(recorded)
        if not state.version:
            key = recorded.key
            fields = self.gathered.fields_of(key.prompt_id, key.model_key, key.repetition)
            imported = Draft(AnswerImported, header, **fields).after(0)
            assert isinstance(imported, AnswerImported)
            events.append(imported)
            state = evolve(state, imported)
        steps = await grader.advance(recorded.key, recorded.case, state)
        events.extend(steps.events)
        await journal.append(*events)
        checks.end(recorded, finished=True)
        for event in events:
            self.observe(event)
        return steps.state


def _evaluations(connection: Connection, keys: Sequence[Any]) -> list[RecordedEvaluation]:
    return list(iterate_evaluations(connection, keys))
