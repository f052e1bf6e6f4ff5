"""When the projections are followed in a process of their own, and when at the end."""

from __future__ import annotations

import subprocess
import time
from typing import Any

import pytest

from failproof_es.store.store import Store
from projections import follower as module
from projections.follower import Follower
from projections.runner import status
from tests.integration.projections.world import World, record


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes that followers begin."""
    found: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen

    def begin(*arguments: Any, **settings: Any) -> subprocess.Popen[bytes]:
        found.append(real(*arguments, **settings))
        return found[-1]

    monkeypatch.setattr("projections.follower.subprocess.Popen", begin)
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


def test_what_lasts_is_followed_by_a_process_while_it_lasts(
    store: Store, world: World, begun: list[subprocess.Popen[bytes]]
) -> None:
    with Follower(store.url, 0.1) as follower:
        record(store, world.events)
        given_up = time.monotonic() + 60
        while behind(store) != {0} and time.monotonic() < given_up:
            time.sleep(0.05)
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

    monkeypatch.setattr("projections.follower.subprocess.Popen", refuse)
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
