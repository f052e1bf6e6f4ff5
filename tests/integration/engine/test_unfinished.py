"""What is left of a run, looked up: the same as reading and folding every evaluation of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest

import failproof_es.core.run as run_module
from failproof_es.core.evaluation import EvaluationKey, fold
from failproof_es.core.history_errors import ImpossibleHistory
from failproof_es.core.tally import Tally
from failproof_es.engine import history as history_module
from failproof_es.engine import unfinished as unfinished_module
from failproof_es.engine.history import (
    read_chunk,
    read_evaluations,
    read_run,
    recorded_evaluations,
    split_by_size,
)
from failproof_es.engine.unfinished import read_unfinished
from failproof_es.events import CarriedOver, EvaluationAbandoned, Event
from failproof_es.store.reading.reader import Connection, RecordedEvent, read_streams
from failproof_es.store.store import Store
from tests.benchmarks.rebuild import begun, history

CASES = 11


def abandoned(events: Sequence[Event], version: int) -> Event:
    """The end of an evaluation without a score, at this place of its stream."""
    first = events[0]
    return EvaluationAbandoned(
        originator_id=first.originator_id, originator_version=version, run_id=first.run_id,
        timestamp=datetime.now(UTC), prompt_id=first.prompt_id,  # type: ignore[attr-defined]
        model_key="model", repetition=1, kind="unanswered", reason="no answer",
    )  # fmt: skip


def lives(prompts: Sequence[UUID], run_id: UUID) -> Iterator[list[Event]]:
    """Every prefix of an evaluation that goes well, ends without a score, and odd ones."""
    for place, prompt in enumerate(prompts):
        events = list(history(prompt, run_id))
        match place:
            case 0 | 1 | 2 | 3 | 4:
                yield events[:place]
            case 5:
                yield [*events[:3], abandoned(events, 4)]
            case 6:  # a gap: its third event is missing
                yield [*events[:2], events[3]]
            case 7:  # it ends twice
                yield [*events, abandoned(events, 5)]
            case 8:  # it goes on after its end
                yield [*events, events[0].model_copy(update={"originator_version": 5})]
            case 9:  # it happened in another run
                other = EvaluationKey(uuid4(), prompt, "model", 1)
                yield [
                    CarriedOver(
                        originator_id=events[0].originator_id, originator_version=1,
                        run_id=run_id, timestamp=datetime.now(UTC), prompt_id=prompt,
                        model_key="model", repetition=1, source_run_id=other.run_id,
                        source_evaluation_id=other.evaluation_id, source_events=4,
                        source_sha256="0" * 64,
                    )
                ]  # fmt: skip
            case _:
                yield events


@pytest.fixture
def run_id(store: Store, monkeypatch: pytest.MonkeyPatch) -> UUID:
    """A run of eleven cases, planned in chunks of three."""
    monkeypatch.setattr(run_module, "CHUNK", 3)
    found = uuid4()
    events, prompts = begun(CASES, found)
    with store.connect() as connection:
        connection.execute("SELECT failproof.number_run(%s)", (found,))
    store.log.events.put(events)
    for life in lives(prompts, found):
        store.log.events.put(life)
    return found


@pytest.mark.parametrize("at_once", [1, 2, 3, 4, 1_000])
@pytest.mark.parametrize("chunks", [1, 2, 50])
@pytest.mark.thinned(fast=5, whole=15)
def test_it_is_what_folding_every_evaluation_gives(
    store: Store, run_id: UUID, monkeypatch: pytest.MonkeyPatch, at_once: int, chunks: int
) -> None:
    monkeypatch.setattr(unfinished_module, "_LOOKED_UP_AT_ONCE", at_once)
    monkeypatch.setattr(unfinished_module, "_CHUNKS_AT_ONCE", chunks)
    found: list[EvaluationKey] = []
    told: set[EvaluationKey] = set()
    counted = Tally(CASES)
    with store.connect() as connection:
        run = read_run(connection, run_id)
        assert run.chunks == 4
        chunk = 0
        while chunk < run.chunks:
            part = read_unfinished(connection, run, chunk, ["model"])
            assert part.next_chunk > chunk
            chunk = part.next_chunk
            counted.scored += part.scored
            counted.abandoned += part.abandoned
            found += part.keys
            told |= part.started_keys
        left, have_events, tally = [], set(), Tally(CASES)
        for recorded in recorded_evaluations(connection, run):
            try:
                state = None if recorded.carried_over else recorded.state()
            except ImpossibleHistory:
                state = None
            if state is not None and state.finished:
                tally.add(state)
            else:
                left.append(recorded.key)
                if recorded.history or recorded.broken:
                    have_events.add(recorded.key)
    assert (found, counted) == (left, tally)
    assert told == have_events and 0 < len(told) < len(left)
    assert (counted.scored, counted.abandoned, len(left)) == (2, 1, 8)


def test_nothing_is_read_of_what_has_ended(
    store: Store, run_id: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not one evaluation of a run is folded to find the next that is to be asked."""
    monkeypatch.setattr(history_module, "fold", lambda events: pytest.fail(f"{fold} of {events}"))
    with store.connect() as connection:
        part = read_unfinished(connection, read_run(connection, run_id), 3, ["model"])
    assert (part.scored, part.keys, part.next_chunk) == (1, part.keys[:1], 4)


def test_each_model_is_looked_up_by_itself(store: Store, run_id: UUID) -> None:
    with store.connect() as connection:
        run = read_run(connection, run_id)
        part = read_unfinished(connection, run, 3, ["other", "model"])
    assert [key.model_key for key in part.keys].count("other") == 2
    assert part.scored == 1


def test_of_what_has_not_begun_the_case_alone_is_read(store: Store, run_id: UUID) -> None:
    looked_at: list[UUID] = []

    def read(connection: Connection, streams: Sequence[UUID]) -> dict[UUID, list[RecordedEvent]]:
        looked_at.extend(streams)
        return read_streams(connection, streams)

    with store.connect() as connection:
        part = read_unfinished(connection, read_run(connection, run_id), 0, ["model"])
        found = read_evaluations(connection, part.keys, read=read, started_keys=part.started_keys)
        whole = read_evaluations(connection, part.keys)
        sized = list(split_by_size(connection, part.keys, part.started_keys))
    assert looked_at == [key.evaluation_id for key in part.keys[1:]]
    assert [(e.key, e.case, e.history) for e in found] == [
        (e.key, e.case, e.history) for e in whole
    ]
    assert sized == [part.keys]


def test_what_is_planned_twice_is_read_when_it_comes_again(
    store: Store, run_id: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have begun by then, because it was planned before."""
    once = read_chunk
    monkeypatch.setattr(unfinished_module, "read_chunk", lambda *asked: once(*asked) * 2)
    with store.connect() as connection:
        part = read_unfinished(connection, read_run(connection, run_id), 0, ["model"])
    assert len(part.keys) == 6
    assert part.started_keys == set(part.keys)
