"""Reads which evaluations of a run are unfinished: those that a drive, and so `resume`, continues.

`store/queries/finished_streams.sql` decides by the topics of each stream. Every other evaluation is
read whole by `PendingEvaluations`, which finds those that are carried over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple
from uuid import UUID

from failproof_es.configuration.recorded import repetitions_of
from failproof_es.core.case import prompt_id
from failproof_es.core.evaluation import EvaluationKey, ImpossibleHistory
from failproof_es.core.run import CHUNK, PlannedEvaluation, Run, planned_names, planned_streams
from failproof_es.core.sharding.shards import PlanPart, chunk_slices
from failproof_es.engine.history import Connection, read_chunk
from failproof_es.events import OWN_ENDINGS
from failproof_es.store.writing.recorder import query

_CHUNKS_AT_ONCE = 50
_LOOKED_UP_AT_ONCE = 1_000


class UnfinishedPart(NamedTuple):
    """The unfinished evaluations of a part of a plan, and the counts of the finished ones."""

    next_chunk: int
    """The first chunk that was not read."""
    scored: int
    abandoned: int
    keys: list[EvaluationKey]
    """The unfinished evaluations, in plan order."""
    started_keys: frozenset[EvaluationKey] = frozenset()
    """The keys that may have events. The streams of the other keys are empty: nothing to read."""


def read_unfinished(
    connection: Connection, run: Run, first_chunk: int, models: Sequence[str]
) -> UnfinishedPart:
    """The unfinished evaluations of these models in the next chunk that has any.

    Reads chunks from `first_chunk` on, at most `_CHUNKS_AT_ONCE`; go on with the result's
    `next_chunk`, also if it has no keys. Of finished evaluations only the topics are read:
    validation reads their content.
    """
    run_id = run.started.originator_id
    scored = abandoned = 0
    chunk, last = first_chunk, min(first_chunk + _CHUNKS_AT_ONCE, run.chunks)
    unfinished: list[EvaluationKey] = []
    started_keys: frozenset[EvaluationKey] = frozenset()
    while chunk < last and not unfinished:
        digests = read_chunk(connection, run_id, chunk)
        chunk += 1
        planned = planned_names(digests, models, range(1, repetitions_of(run.started) + 1))
        chunk_state = _unfinished_of(connection, run, planned)
        scored, abandoned = scored + chunk_state[0], abandoned + chunk_state[1]
        unfinished, started_keys = unfinished + chunk_state[2], started_keys | chunk_state[3]
    return UnfinishedPart(chunk, scored, abandoned, unfinished, started_keys)


def read_unfinished_part(
    connection: Connection, run: Run, part: PlanPart, models: Sequence[str]
) -> UnfinishedPart:
    """The unfinished evaluations of these models in a part of the plan.

    Of finished evaluations only the topics are read. Raises `ImpossibleHistory` if a chunk of the
    recorded plan is too short.
    """
    planned = _planned_part(connection, run, part, models)
    return UnfinishedPart(run.chunks, *_unfinished_of(connection, run, planned))


def read_planned_streams(connection: Connection, run: Run, part: PlanPart) -> Iterator[list[str]]:
    """The stream ids of the evaluations of all models in a part of the plan, in batches.

    Raises `ImpossibleHistory` if a chunk of the recorded plan is too short.
    """
    models = [model.key for model in run.started.models]
    for planned in _batches(_planned_part(connection, run, part, models)):
        yield planned_streams(run.started.originator_id, planned)


def _planned_part(
    connection: Connection, run: Run, part: PlanPart, models: Sequence[str]
) -> Iterator[PlannedEvaluation]:
    """The planned evaluations of these models in this part of the plan, in plan order."""
    digests, planned = _read_digests(connection, run, part.cases), repetitions_of(run.started)
    for case, digest in zip(part.cases, digests, strict=True):
        yield from planned_names([digest], models, part.repetitions(case, planned))


def _read_digests(connection: Connection, run: Run, cases: range) -> list[str]:
    """The digests of the cases at these places in the plan, counted from 0.

    Raises `ImpossibleHistory` if a chunk of the plan is too short.
    """
    run_id = run.started.originator_id
    digests: list[str] = []
    for piece in chunk_slices(cases):
        recorded = read_chunk(connection, run_id, piece.chunk)
        if piece.end > len(recorded) or (piece.chunk + 1 < run.chunks and len(recorded) != CHUNK):
            raise ImpossibleHistory(f"run {run_id}: chunk {piece.chunk} of its plan is too short")
        digests += recorded[piece.first : piece.end]
    return digests


def _unfinished_of(
    connection: Connection, run: Run, evaluations: Iterable[PlannedEvaluation]
) -> tuple[int, int, list[EvaluationKey], frozenset[EvaluationKey]]:
    """Count ended evaluations, list unfinished ones.

    Returns the number of scored ones, the number of abandoned ones, the unfinished keys in plan
    order, and those of the unfinished keys that may have events.
    """
    run_id = run.started.originator_id
    scored = abandoned = 0
    unfinished: list[EvaluationKey] = []
    started_keys: set[EvaluationKey] = set()
    for planned in _batches(evaluations):
        streams = planned_streams(run_id, planned)
        [row] = connection.execute(
            query("finished_streams"), {"streams": streams, "final": list(OWN_ENDINGS)}
        ).fetchall()
        scored, abandoned = scored + row[0], abandoned + row[1]
        keys = {place: _key_of(run_id, planned[place - 1]) for place in row[2]}
        unfinished += keys.values()
        started_keys.update(keys[place] for place in row[3])
    # an evaluation that is planned twice may begin before its second place is read
    if len(set(unfinished)) < len(unfinished):
        started_keys.update(unfinished)
    return scored, abandoned, unfinished, frozenset(started_keys)


def _key_of(run_id: UUID, planned: PlannedEvaluation) -> EvaluationKey:
    digest, model, repetition = planned
    return EvaluationKey(run_id, prompt_id(digest), model, repetition)


def _batches(evaluations: Iterable[PlannedEvaluation]) -> Iterator[list[PlannedEvaluation]]:
    planned = iter(evaluations)
    while batch := list(islice(planned, _LOOKED_UP_AT_ONCE)):
        yield batch
