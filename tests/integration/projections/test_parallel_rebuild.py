"""A rebuild in several processes gives the rows that following gives, whatever goes wrong."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import psutil
import psycopg
import pytest

import projections.batch as batching
from failproof_es.store.mapper import LogEntry
from failproof_es.store.reading.reader import max_position
from failproof_es.store.store import Store
from projections import PROJECTIONS, parallel_rebuild
from projections.batch import Share
from projections.runner import _begin_building as begin_building
from projections.runner import rebuild
from projections.shares import EVALUATIONS, ForeignTables, building_id, shares_of, take_share
from tests.integration.projections.shared_rebuilds import in_this_process, noted
from tests.integration.projections.world import (
    Rows,
    World,
    follow_to_the_end,
    is_building,
    rows,
)
from tests.processes import children_with, wait_until_ended
from tests.selection import wide_except

_ODD = UUID(int=4712)


def entry(stream: UUID, version: int, topic: str, run_id: UUID | None = None) -> LogEntry:
    return LogEntry(stream, version, topic, b"{}", run_id=run_id)


def test_several_processes_write_the_rows_that_following_wrote(
    store: Store, followed: Rows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They run no code of the folder that they are started in."""
    package = tmp_path / "projections"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('somebody else')")
    monkeypatch.chdir(tmp_path)
    reached = noted(monkeypatch)
    with store.connect() as connection:
        told: list[tuple[int, int]] = []
        rebuild(connection, processes=3, progress=lambda done, of: told.append((done, of)))
        assert rows(connection) == followed
        assert reached == [max_position(connection)]
        assert told == sorted(told) and told[-1][0] <= told[-1][1] == reached[0]
        rebuild(connection, ["audit_trail"], processes=2)
        assert rows(connection) == followed
        assert reached == [max_position(connection)] * 2


@pytest.mark.parametrize("events", [7, *wide_except((), (1, 1_000))])
def test_shares_of_batches_of_any_size_give_the_same_rows(
    store: Store, followed: Rows, events: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_this_process(monkeypatch)
    monkeypatch.setattr(batching, "BATCH_EVENTS", events)
    monkeypatch.setattr(batching, "BATCH_BYTES", 2_000)
    reached = noted(monkeypatch)
    with store.connect() as connection:
        rebuild(connection, processes=4)
        assert reached == [max_position(connection)]
        assert rows(connection) == followed


def test_a_short_log_starts_no_process(
    store: Store, followed: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a worker was started")

    monkeypatch.setattr(parallel_rebuild, "_RebuildWorker", refuse)
    with store.connect() as connection:
        rebuild(connection)
        monkeypatch.setattr(parallel_rebuild, "FROM_EVENTS", 1)
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
        with pytest.raises(AssertionError, match="started"):
            rebuild(connection)


def test_an_event_that_no_share_holds_is_noticed(
    store: Store, followed: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_this_process(monkeypatch)
    reached = noted(monkeypatch)

    def with_a_gap(kinds: Sequence[str], count: int, up_to: int) -> list[Share]:
        found = shares_of(kinds, count, up_to)
        return [*found[:-1], replace(found[-1], up_to=found[-1].up_to - 60)]

    monkeypatch.setattr(parallel_rebuild, "shares_of", with_a_gap)
    with store.connect() as connection:
        rebuild(connection, processes=2)
        assert reached == [None]
        assert rows(connection) == followed


def test_a_worker_that_is_killed_leaves_its_share_to_this_process(
    store: Store, followed: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached = noted(monkeypatch)
    take = take_share

    def kill_first(*arguments: Any) -> int:
        for child in children_with("projections.share_worker"):
            child.kill()
            child.wait()
        return take(*arguments)

    monkeypatch.setattr(parallel_rebuild, "take_share", kill_first)
    with store.connect() as connection:
        rebuild(connection, processes=2)
        assert reached == [None]
        assert rows(connection) == followed


def test_two_processes_that_wait_for_each_other_leave_it_to_one(
    store: Store, followed: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    def chosen_by_the_server(*_: Any) -> int:
        raise psycopg.errors.DeadlockDetected

    in_this_process(monkeypatch)
    monkeypatch.setattr(parallel_rebuild, "take_share", chosen_by_the_server)
    reached = noted(monkeypatch)
    with store.connect() as connection:
        rebuild(connection, processes=2)
        assert reached == [None]
        assert rows(connection) == followed


_KILLED = """
import sys, time, psycopg
import projections.parallel_rebuild as parallel
from projections.runner import rebuild

take = parallel.take_share

def take_and_stop(connection, projections, share, *rest):
    events = take(connection, projections, share, *rest)
    if "Scored" in share.kinds and share.among:
        print("evaluations", flush=True)
        time.sleep(60)
    return events

parallel.take_share = take_and_stop
with psycopg.connect(sys.stdin.readline().strip(), autocommit=True) as connection:
    rebuild(connection, processes=2)
"""


def test_a_killed_rebuild_leaves_the_live_rows_and_its_workers_end(
    store: Store, followed: Rows
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _KILLED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(store.url + "\n")
        process.stdin.flush()
        assert process.stdout.readline() == "evaluations\n"
        (worker,) = psutil.Process(process.pid).children()
        process.send_signal(signal.SIGKILL)
    with store.connect() as connection:
        assert is_building(connection)
        assert rows(connection) == followed
        rebuild(connection)
        assert rows(connection) == followed
        assert not is_building(connection)
    wait_until_ended(worker, 20)


def test_a_worker_writes_nothing_where_another_rebuild_has_begun(
    store: Store, followed: Rows
) -> None:
    with store.connect() as connection:
        begin_building(connection, PROJECTIONS)
        with connection.transaction():
            building = building_id(connection, PROJECTIONS)
        begin_building(connection, PROJECTIONS)
        (share,) = shares_of(EVALUATIONS, 1, max_position(connection))
        with pytest.raises(ForeignTables):
            take_share(connection, PROJECTIONS, share, building, lambda _: None)
        count = connection.execute("SELECT count(*) FROM projections_building.evaluations")
        assert count.fetchone() == (0,)
        rebuild(connection)  # and nothing is in the way of the next
        with pytest.raises(ForeignTables):
            take_share(connection, PROJECTIONS, share, building, lambda _: None)


def test_two_rebuilds_at_once_both_give_the_rows(store: Store, followed: Rows) -> None:
    def once(_: int) -> int:
        with psycopg.connect(store.url, autocommit=True) as connection:
            return rebuild(connection, processes=2)

    with ThreadPoolExecutor(2) as pool:
        reached = list(pool.map(once, range(2)))
    with store.connect() as connection:
        assert reached == [max_position(connection)] * 2
        assert rows(connection) == followed


@pytest.mark.parametrize(
    ("stream", "version", "topic"),
    [
        ("prompt", 2, "Scored"),
        ("evaluation", 9, "PromptStored"),
        ("evaluation", 9, "Reviewed"),
        ("run", 900, "Scored"),
        ("prompt", 2, "RunPaused"),
        ("odd", 2, "Scored"),
        ("odd", 2, "PromptStored"),
    ],
)
@pytest.mark.thinned(whole=2)
def test_a_stream_with_what_does_not_belong_there_is_told_as_following_tells_it(
    store: Store,
    world: World,
    followed: Rows,
    stream: str,
    version: int,
    topic: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    in_this_process(monkeypatch)
    reached = noted(monkeypatch)
    kinds = {type(each).stream: each.originator_id for each in world.events} | {"odd": _ODD}
    store.log.recorder.insert_events([entry(kinds[stream], version, topic)])
    with store.connect() as connection:
        follow_to_the_end(connection)
        after = rows(connection)
        rebuild(connection, processes=2)
        assert reached == [None]
        assert rows(connection) == after
