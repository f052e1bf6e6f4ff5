"""Evaluations that a branched run carries over from another run, by reference to their events.

A carried-over evaluation is written once, in its original stream. The branched run records
that stream, its number of events and their hash. Readers follow the reference, so other
code need not know about it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol
from uuid import UUID

from failproof_es.core.evaluation import EvaluationKey
from failproof_es.core.outcome import outcome_of
from failproof_es.events import (
    EVALUATION_ENDINGS,
    Branch,
    CarriedOver,
    EvaluationAbandoned,
    RunStarted,
)
from failproof_es.store.mapper import decode
from failproof_es.store.reading.carried_over import stream_digest
from failproof_es.store.reading.reader import (
    Connection,
    RecordedEvent,
    portions,
    read_event,
    read_streams,
)
from failproof_es.store.writing.event_header import EventHeader
from failproof_es.store.writing.recorder import query


@dataclass(frozen=True, slots=True)
class FinishedEvaluation:
    """A finished evaluation of a run, its own or carried over."""

    happened_in: UUID
    """The run in which it happened."""
    stream_id: UUID
    abandoned: bool
    """Whether it ended without a score."""
    failed: bool | None = None
    """Whether its score does not pass; `None` if that was not read."""
    error: bool | None = None
    """Whether it ended without a score and awaits no people; `None` if that was not read."""
    reference: CarriedOver | None = None
    """The reference, if the run itself had carried it over."""


def endings(
    connection: Connection, branch: Branch, keys: Sequence[EvaluationKey]
) -> dict[EvaluationKey, FinishedEvaluation]:
    """The endings of the evaluations of `keys`, at the branch's position in its source run.

    The run id of the keys does not matter. Evaluations that were not finished there are left out.
    If the source run is itself a branch, evaluations that it carries over count, too: it may have
    been killed before it recorded them.
    """
    sources = {replace(key, run_id=branch.run_id): key for key in keys}
    topics = _read_final_topics(
        connection, [source.evaluation_id for source in sources], branch.position
    )
    ended: dict[EvaluationKey, FinishedEvaluation] = {}
    untouched = []
    for source, key in sources.items():
        last = topics.get(source.evaluation_id)
        if last is None:
            untouched.append(source)
        elif isinstance(last, CarriedOver):
            source_id = last.source_evaluation_id
            ended[key] = FinishedEvaluation(last.source_run_id, source_id, False, reference=last)
        elif last in EVALUATION_ENDINGS:
            abandoned = last == EvaluationAbandoned.__name__
            ended[key] = FinishedEvaluation(branch.run_id, source.evaluation_id, abandoned)
    ended = _with_referenced_endings(connection, ended, branch.position)
    if untouched and (earlier := _branch_of(connection, branch.run_id)) is not None:
        for source, ending in carried_over(connection, earlier, untouched).items():
            ended[sources[source]] = ending
    if branch.again in ("failed", "errors"):
        ended = _with_outcomes(connection, ended)
    return ended


class ChoosesEndings(Protocol):
    """Something that decides which evaluations a run that reuses answers carries over."""

    def choose(
        self, connection: Connection, ended: Mapping[EvaluationKey, FinishedEvaluation]
    ) -> dict[EvaluationKey, FinishedEvaluation]:
        """The finished evaluations, of `ended`, that are carried over.

        All others are asked again.
        """


def carried_over(
    connection: Connection,
    branch: Branch,
    keys: Sequence[EvaluationKey],
    reuse: ChoosesEndings | None = None,
) -> dict[EvaluationKey, FinishedEvaluation]:
    """The finished evaluations that the branched run carries over, among those of `keys`.

    It asks all others. `reuse` decides for a run that reuses answers; without it such a run carries
    over nothing.
    """
    if branch.reuse and reuse is None:
        return {}
    ended = endings(connection, branch, keys)
    if reuse is not None:
        return reuse.choose(connection, ended)
    return {key: ending for key, ending in ended.items() if carries_over(branch, ending)}


def carries_over(branch: Branch, ending: FinishedEvaluation) -> bool:
    """Whether the branched run carries over an evaluation that ended like this.

    If not, it asks the evaluation again.
    """
    again = {"abandoned": ending.abandoned, "failed": ending.failed, "errors": ending.error}
    return branch.again is None or not again[branch.again]


def carry_over(
    connection: Connection,
    branch: Branch,
    keys: Sequence[EvaluationKey],
    reuse: ChoosesEndings | None = None,
) -> list[CarriedOver]:
    """The events to record in the branched run for those of `keys` that it carries over.

    Nothing is recorded here. `reuse` is as in `carried_over`. A reference never names another
    reference: it names the original stream.
    """
    carried = carried_over(connection, branch, keys, reuse)
    here = {end.stream_id: key for key, end in carried.items() if end.reference is None}
    events = {key: _reference(key, end, {}) for key, end in carried.items() if end.reference}
    for portion in portions(connection, list(here)):
        streams = read_streams(connection, portion)
        for stream_id in portion:
            key = here[stream_id]
            events[key] = _reference(key, carried[key], streams)
    return [events[key] for key in carried]


def _read_final_topics(
    connection: Connection, stream_ids: Sequence[UUID], up_to: int
) -> dict[UUID, str | CarriedOver]:
    """The topic of each stream's final event up to a position, else of its first event.

    In place of the topic of a reference stands the event itself. Streams without events are left
    out.
    """
    rows = connection.execute(query("endings"), (list(stream_ids), up_to, list(EVALUATION_ENDINGS)))
    topics: dict[UUID, str | CarriedOver] = {}
    for stream_id, version, topic, state in rows:
        event = decode(topic, state, stream_id, version) if state is not None else None
        topics[stream_id] = event if isinstance(event, CarriedOver) else topic
    return topics


def _with_referenced_endings(
    connection: Connection, ended: dict[EvaluationKey, FinishedEvaluation], up_to: int
) -> dict[EvaluationKey, FinishedEvaluation]:
    """The endings with `abandoned` set for references too: by the final event of the original
    stream, up to a position."""
    topics = _read_final_topics(
        connection, [e.stream_id for e in ended.values() if e.reference], up_to
    )
    abandoned = EvaluationAbandoned.__name__
    return {
        key: replace(e, abandoned=e.abandoned or topics.get(e.stream_id) == abandoned)
        for key, e in ended.items()
    }


def _with_outcomes(
    connection: Connection, ended: dict[EvaluationKey, FinishedEvaluation]
) -> dict[EvaluationKey, FinishedEvaluation]:
    """The endings with `failed` and `error` set, for which the evaluations are read."""
    of_streams = {ending.stream_id: key for key, ending in ended.items()}
    completed = dict(ended)
    for portion in portions(connection, list(of_streams)):
        streams = read_streams(connection, portion)
        for stream in portion:
            key, ending = of_streams[stream], ended[of_streams[stream]]
            history = [row.event() for row in streams[stream]]
            was = outcome_of(replace(key, run_id=ending.happened_in), history, {})
            error = was.unscored and not was.awaiting_review
            completed[key] = replace(ending, failed=was.failed, error=error)
    return completed


def last_position(connection: Connection, run_id: UUID) -> int:
    """The position of the last event with this run's id."""
    row = connection.execute(
        "SELECT max(notification_id) FROM failproof.stored_events WHERE run_id = %s", (run_id,)
    ).fetchone()
    assert row is not None
    return int(row[0])


def _branch_of(connection: Connection, run_id: UUID) -> Branch | None:
    """The branch with which the run began; `None` if it is no branch."""
    row = read_event(connection, run_id, 1)
    started = row.event() if row else None
    return started.branched_from if isinstance(started, RunStarted) else None


def _reference(
    key: EvaluationKey, ending: FinishedEvaluation, streams: dict[UUID, list[RecordedEvent]]
) -> CarriedOver:
    header = EventHeader.of_evaluation(key)
    if ending.reference is not None:
        return ending.reference.model_copy(update=header.after(0))
    rows = streams[ending.stream_id]
    return CarriedOver(
        **header.after(0),
        source_run_id=ending.happened_in,
        source_evaluation_id=ending.stream_id,
        source_events=len(rows),
        source_sha256=stream_digest(rows),
    )
