"""When the projections are followed in a process of their own, and when at the end."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from failproof_es.store.reading.reader import PROJECTED_CHANNEL, max_position
from failproof_es.store.store import Store
from projections import PROJECTIONS, batch
from projections import follower as module
from projections.follower import Follower, follow
from projections.runner import reached, status
from tests.integration.projections.world import World, record


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes that followers begin."""
    found: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen

    def begin(*arguments: Any, **settings: Any) -> subprocess.Popen[bytes]:
        found.append(real(*arguments, **settings))
        return found[-1]

    monkeypatch.setattr("failproof_es.support.machine.sidecar.subprocess.Popen", begin)
    return found


def behind(store: Store) -> set[int]:
    with store.connect() as connection:
        return {stands.behind for stands in status(connection)}


def test_what_ends_soon_begins_no_process_and_is_followed_all_the_same(
    store: Store, world: World, begun: list[subprocess.Popen[bytes]]
) -> None:
    with Follower(store.url, 60.0) as follower:
        record(store, world.events)
    assert begun == []
    assert follower.kept_up
    assert behind(store) == {0}


@pytest.mark.slow
def test_what_lasts_is_followed_by_a_process_while_it_lasts(
    store: Store, world: World, begun: list[subprocess.Popen[bytes]]
) -> None:
    with Follower(store.url, 0.1) as follower:
        record(store, world.events)
        given_up = time.monotonic() + 60
        while behind(store) != {0} and time.monotonic() < given_up:
            time.sleep(0.3)
        assert behind(store) == {0}
    assert len(begun) == 1 and begun[0].returncode == 0
    assert follower.kept_up


def test_another_packages_code_never_runs_beside_the_engine(
    store: Store, begun: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "names_of_others", lambda: ("theirs",))
    with Follower(store.url, 60.0) as follower:
        pass
    assert len(begun) == 1
    assert follower.kept_up


def test_no_process_to_be_had_is_no_reason_to_fall_behind(
    store: Store, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def refuse(*_: Any, **__: Any) -> None:
        asked.append(True)
        raise BlockingIOError("no more processes")

    monkeypatch.setattr("failproof_es.support.machine.sidecar.subprocess.Popen", refuse)
    with Follower(store.url, 0.01) as follower:
        record(store, world.events)
        time.sleep(0.05)
    assert asked
    assert follower.kept_up
    assert behind(store) == {0}


def test_a_server_that_is_away_at_the_end_is_told(begun: list[subprocess.Popen[bytes]]) -> None:
    with Follower("postgresql://nobody@127.0.0.1:9/none?connect_timeout=2", 60.0) as follower:
        pass
    assert not follower.kept_up


def test_what_does_not_come_to_an_end_is_left(
    store: Store, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(store, world.events)
    monkeypatch.setattr(module, "_DRAIN_S", 0.3)
    with store.connect() as connection, connection.transaction():
        connection.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended('failproof.projections', 0))"
        )
        began = time.monotonic()
        with Follower(store.url, 60.0) as follower:
            pass
        assert time.monotonic() - began < 30
    assert not follower.kept_up


@contextmanager
def following(store: Store) -> Iterator[None]:
    """In a thread of this process, until the end of the block."""
    stopping = threading.Event()
    thread = threading.Thread(target=follow, args=(store.url, stopping))
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join(60)
        assert not thread.is_alive()


def caught_up(store: Store, within_s: float = 60.0) -> bool:
    given_up = time.monotonic() + within_s
    while behind(store) != {0} and time.monotonic() < given_up:
        time.sleep(0.3)
    return behind(store) == {0}


def machine_is(monkeypatch: pytest.MonkeyPatch, *, idle: bool) -> None:
    """Let a core be idle, or none."""
    moment = time.monotonic()
    monkeypatch.setattr(module, "_idle_s", lambda: (time.monotonic() - moment) * idle)


def test_what_one_batch_could_not_hold_follows_at_once(
    store: Store, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PAUSE_S", 3600.0)
    monkeypatch.setattr(batch, "BATCH_EVENTS", 1 + len(world.events) // 3)
    record(store, world.events)
    with following(store):
        assert caught_up(store)


def test_a_full_batch_does_not_wait_and_the_end_does_not_either(
    store: Store, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PAUSE_S", 3600.0)
    monkeypatch.setattr(module, "BATCH_EVENTS", 5)
    machine_is(monkeypatch, idle=True)
    first, few, many = 10, 12, len(world.events)
    record(store, world.events[:first])
    with following(store):
        assert caught_up(store)
        record(store, world.events[first:few])
        assert not caught_up(store, 1.5), "they wait for more"
        record(store, world.events[few : many - 2])
        assert caught_up(store)
        record(store, world.events[many - 2 :])
    assert caught_up(store, 0.0)


def test_while_all_cores_are_busy_more_waits_but_not_for_long(
    store: Store, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PAUSE_S", 0.0)
    monkeypatch.setattr(module, "BATCH_EVENTS", 1)
    monkeypatch.setattr(module, "LONGEST_PAUSE_S", 3600.0)
    monkeypatch.setattr(module, "_BUSY_EVENTS", 5)
    machine_is(monkeypatch, idle=False)
    first, few, many = 10, 12, len(world.events)
    record(store, world.events[:first])
    with following(store):
        assert caught_up(store), "more than so many events wait from the begin"
        record(store, world.events[first:few])
        assert not caught_up(store, 1.5), "recording comes before views"
        record(store, world.events[few:many])
        assert caught_up(store), "not more than so many events wait"


def test_while_all_cores_are_busy_nothing_waits_longer_than_a_while(
    store: Store, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LONGEST_PAUSE_S", 1.0)
    machine_is(monkeypatch, idle=False)
    monkeypatch.setattr(module, "_PAUSE_S", 0.0)
    record(store, world.events[:10])
    with following(store):
        assert caught_up(store, 30.0), "the first batch waits no longer, either"
        record(store, world.events[10:])
        assert caught_up(store, 30.0)


def test_the_first_batch_waits_while_all_cores_are_busy_and_else_does_not(
    store: Store, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LONGEST_PAUSE_S", 3600.0)
    machine_is(monkeypatch, idle=False)
    record(store, world.events)
    with following(store):
        assert not caught_up(store, 2.0)
        machine_is(monkeypatch, idle=True)
        assert caught_up(store)


def test_the_machine_tells_how_long_its_cores_were_idle() -> None:
    before, began = module._idle_s(), time.monotonic()
    time.sleep(0.3)
    passed_s = time.monotonic() - began
    assert 0.0 <= module._idle_s() - before <= (passed_s + 0.1) * (os.cpu_count() or 1)


def test_a_follower_tells_readers_at_most_twice_a_second_and_whoever_appends_tells_nothing(
    store: Store, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine_is(monkeypatch, idle=True)
    monkeypatch.setattr(module, "_PAUSE_S", 0.0)
    with psycopg.connect(store.url, autocommit=True) as listening:
        listening.execute(f"LISTEN {PROJECTED_CHANNEL}")
        record(store, world.events[:5])
        assert list(listening.notifies(timeout=1)) == []
        stopping = threading.Event()
        following = threading.Thread(target=follow, args=(store.url, stopping))
        following.start()
        began = time.monotonic()
        try:
            for event in world.events[5:35]:
                record(store, [event])
                time.sleep(0.05)
        finally:
            stopping.set()
            following.join(60)
        lasted = time.monotonic() - began
        told = [int(each.payload) for each in listening.notifies(timeout=1)]
    with store.connect() as connection:
        assert told[-1] == reached(connection, PROJECTIONS) == max_position(connection)
    assert told == sorted(set(told))
    assert 1 <= len(told) <= 2 * lasted + 2
