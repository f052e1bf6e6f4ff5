"""What several streams decide together is marked after a rebuild in shares, as it is live."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from failproof_es.core.evaluation import EvaluationKey
from failproof_es.events import CarriedOver, PricesRecorded
from failproof_es.store.mapper import LogEntry
from failproof_es.store.store import Store
from projections.log_comparison import compare_run
from projections.run_results import RunResults
from projections.runner import prepare, rebuild
from tests.integration.projections.shared_rebuilds import in_this_process, noted
from tests.integration.projections.world import follow_to_the_end, rows
from tests.integration.reading.lives import Life
from tests.integration.reading.test_both_readers import store as store


def told_after(store: Store, entries: Sequence[LogEntry], monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether every run can be told of, live and rebuilt in shares alike."""
    in_this_process(monkeypatch)
    store.log.recorder.insert_events(list(entries))
    with store.connect() as connection:
        prepare(connection)
        follow_to_the_end(connection)
        followed = rows(connection)
        reached = noted(monkeypatch)
        rebuild(connection, processes=2)
        assert reached != [None]
        assert rows(connection) == followed
        for run_id in {entry.run_id for entry in entries} - {None}:
            assert run_id is not None
            assert compare_run(connection, run_id).changed == []
        row = connection.execute("SELECT bool_and(told) FROM projections.runs").fetchone()
        monkeypatch.setattr(RunResults, "settle", lambda *_: None)
        rebuild(connection, processes=2)
        assert rows(connection) != followed, "nothing was settled: these events show nothing"
    assert row is not None
    return bool(row[0])


def lives() -> Iterator[Life]:
    """Lives in which nothing is damaged."""
    for seed in range(1, 10_000):
        life = Life(seed, 1)
        if min(len(each.state) for each in life.entries) > 30 and life.histories:
            yield life


def test_a_plan_that_was_recorded_late_is_marked(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    life, place = next(
        (life, place)
        for life in lives()
        for place, each in enumerate(life.entries)
        if each.topic == PricesRecorded.__name__ and life.entries[place + 1].run_id
    )
    later = [*life.entries[:place], *life.entries[place + 1 :]]
    streams = {key.evaluation_id for key in life.keys}
    first = next(n for n, each in enumerate(later) if each.originator_id in streams)
    own = [n for n, each in enumerate(later) if each.originator_id == life.run_id]
    assert first < min([n for n in own if n >= place], default=len(later))
    later.insert(first + 1, life.entries[place])
    assert not told_after(store, later, monkeypatch)


def test_a_source_that_changed_after_it_was_carried_over_is_marked(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The source is in the share that is taken in first, the reference in the other."""
    middle = 1 << 127
    for source in lives():
        life = Life(1, 2, source)
        for each in life.entries:
            key = next((k for k in life.keys if k.evaluation_id == each.originator_id), None)
            if key and each.topic == CarriedOver.__name__ and key.evaluation_id.int < middle:
                there = EvaluationKey(source.run_id, key.prompt_id, key.model_key, key.repetition)
                if there.evaluation_id.int >= middle:
                    break
        else:
            continue
        break
    entries = [*source.entries, *life.entries]
    version = sum(each.originator_id == there.evaluation_id for each in entries) + 1
    extra = LogEntry(there.evaluation_id, version, "Scored", b"{}", run_id=source.run_id)
    assert not told_after(store, [*entries, extra], monkeypatch)
