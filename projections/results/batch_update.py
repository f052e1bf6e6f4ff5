"""Applies one batch of events to the tables of `run_results`.

Whether an evaluation counts depends on positions in the log, never on where a batch ends. A run
that these tables cannot represent as it is in the log is marked: `told` is false.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from uuid import UUID

from failproof_es.events import RunStarted, topics
from projections.protocol import Cursor, Fact
from projections.results.batch_evaluations import (
    StoredEvaluation,
    stored_evaluations,
    take_evaluations,
    touched_evaluations,
)
from projections.results.batch_prompts import astray, take_prompts
from projections.results.batch_runs import RUN_TOPICS, Runs
from projections.results.counters import save
from projections.results.streams import Streams, key_of

_EVALUATION_TOPICS = frozenset(topics("evaluation"))


def apply_batch(cursor: Cursor, facts: Sequence[Fact]) -> None:
    """Apply the next events, with the same result as applying them one by one."""
    while facts:
        facts = facts[_apply_first(cursor, facts) :]


def _apply_first(cursor: Cursor, facts: Sequence[Fact]) -> int:
    """Apply as many of the first events as can be applied together; return their number."""
    streams: Streams = {}
    for fact in facts:
        stream_facts = streams.get(fact.stream_id)
        if stream_facts is None:
            streams[fact.stream_id] = [fact]
        else:
            stream_facts.append(fact)
    stored = stored_evaluations(cursor, streams)
    runs = Runs.of(cursor, streams)
    if (turn := _first_turn(streams, stored, runs.by_id)) is not None:
        count = sum(fact.position < turn for fact in facts)
        apply_batch(cursor, facts[:count])
        return count
    of_runs, of_evaluations, other_streams = _sort_streams(streams, stored, runs.by_id)
    run_ids = {str(run_id) for run_id in runs.by_id}
    strangers = {
        stream: stream_facts
        for stream, stream_facts in (of_runs | of_evaluations).items()
        if stream not in run_ids and stream not in stored
    }
    take_prompts(cursor, runs, other_streams, strangers)
    runs.take(cursor, {UUID(stream): stream_facts for stream, stream_facts in of_runs.items()})
    touched, unplaced = touched_evaluations(cursor, of_evaluations, stored)
    _note_unplaced(cursor, [*unplaced, *runs.unplaced, *astray(other_streams)])
    if touched:
        take_evaluations(cursor, runs, touched, stored)
    else:
        save(cursor, runs.changes)
    runs.finish(cursor, [(evaluation.stream, evaluation.last_position) for evaluation in touched])
    return len(facts)


def _first_turn(
    streams: Streams, stored: Mapping[str, object], runs: Collection[UUID]
) -> int | None:
    """The first position at which a stream continues with events of another kind; else `None`.

    Such a stream exists only in a log that was tampered with. `stored` and `runs` are the
    evaluations and runs with a row, whose streams are left out.
    """
    run_ids = {str(run_id) for run_id in runs}
    turns = [
        facts[1].position
        for stream, facts in streams.items()
        if len(facts) > 1
        and stream not in run_ids
        and stream not in stored
        and not _is_one_kind(facts)
    ]
    return min(turns, default=None)


def _is_one_kind(facts: Sequence[Fact]) -> bool:
    """Whether all of a stream's events are of the kind of its first one."""
    first = facts[0]
    event = first.event
    if event is not None and key_of(event) is not None:
        return True  # an evaluation's first event: all that follow belong to the evaluation
    if first.topic in RUN_TOPICS:
        begins = isinstance(event, RunStarted) and first.version == 1
        own = event is not None and event.run_id == event.originator_id
        return (begins and own) or all(fact.topic in RUN_TOPICS for fact in facts)
    return not any(fact.topic in RUN_TOPICS or _of_evaluation(fact) for fact in facts)


def _sort_streams(
    streams: Streams, stored: dict[str, StoredEvaluation], runs: Iterable[UUID]
) -> tuple[Streams, Streams, Streams]:
    """The streams of runs, those of evaluations, and the others, each with its events.

    `stored` and `runs` are the evaluations and runs with a row.
    """
    of_runs: Streams = {}
    of_evaluations: Streams = {}
    other_streams: Streams = {}
    run_ids = {str(run_id) for run_id in runs}
    for stream, facts in streams.items():
        if stream in run_ids:
            of_runs[stream] = facts
        elif stream in stored:  # all events after an evaluation's first one belong to it
            of_evaluations[stream] = facts
        elif facts[0].topic == "RunStarted":
            of_runs[stream] = facts
        elif any(map(_of_evaluation, facts)):
            of_evaluations[stream] = facts
        elif any(fact.topic in RUN_TOPICS for fact in facts):
            of_runs[stream] = facts
        else:
            other_streams[stream] = facts
    return of_runs, of_evaluations, other_streams


def _of_evaluation(fact: Fact) -> bool:
    return fact.topic in _EVALUATION_TOPICS and fact.event is not None


def _note_unplaced(cursor: Cursor, facts: Sequence[Fact]) -> None:
    if facts:
        rows = [(f.position, UUID(f.stream_id), _uuid(f.run_id), f.topic) for f in facts]
        cursor.execute(
            "INSERT INTO unplaced_events (position, stream_id, run_id, topic) "
            "SELECT * FROM unnest(%s::bigint[], %s::uuid[], %s::uuid[], %s::text[])",
            [list(column) for column in zip(*rows, strict=True)],
        )


def _uuid(text: str | None) -> UUID | None:
    return None if text is None else UUID(text)
