"""Ctrl-C during `projections rebuild`, and again before that is dealt with."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest

from failproof_es.store.store import Store
from projections import runner
from tests.acceptance.commands import PROGRAM, environment
from tests.conftest import as_administrator
from tests.selection import slow_except

_HELD = "SELECT pg_advisory_lock(hashtextextended('failproof.projections', 0))"
_WAITS = (
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
    "AND wait_event_type = 'Lock' AND wait_event = 'advisory'"
)


@pytest.mark.parametrize("after_s", slow_except([0.0], [0.0, 0.02]))
def test_interrupted_twice_it_says_so_and_nothing_else(
    store: Store, tmp_path: Path, after_s: float
) -> None:
    with psycopg.connect(as_administrator(store.url), autocommit=True) as holder:
        holder.execute(_HELD)
        with subprocess.Popen(
            [*PROGRAM, "projections", "rebuild"],
            env=environment(store.url), cwd=tmp_path, stderr=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            while not holder.execute(_WAITS).fetchall():
                assert process.poll() is None
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            time.sleep(after_s)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=60)
    assert said == "interrupted\n"
    assert process.returncode == 130


def test_interrupted_again_while_what_was_built_is_taken_away(store: Store, tmp_path: Path) -> None:
    """The second one comes while the program waits for the database."""
    url = as_administrator(store.url)
    with psycopg.connect(url) as holder, psycopg.connect(url) as reader:
        with psycopg.connect(url, autocommit=True) as looking:
            holder.execute("LOCK TABLE failproof.events IN ACCESS EXCLUSIVE MODE")
            with subprocess.Popen(
                [*PROGRAM, "projections", "rebuild"],
                env=environment(store.url), cwd=tmp_path, stderr=subprocess.PIPE, text=True,
            ) as process:  # fmt: skip
                _wait_for(looking, "read", process)
                reader.execute("LOCK TABLE projections_building.runs IN ACCESS SHARE MODE")
                process.send_signal(signal.SIGINT)
                _wait_for(looking, "taken away", process)
                process.send_signal(signal.SIGINT)
                _, said = process.communicate(timeout=60)
        holder.rollback()
        reader.rollback()
    assert said == "interrupted\n"
    assert process.returncode == 130


_BLOCKED = {
    "read": "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
    "AND wait_event_type = 'Lock' AND query LIKE '%%notification_id%%'",
    "taken away": "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
    "AND wait_event_type = 'Lock' AND query LIKE '%%DROP %%'",
}


def _wait_for(looking: psycopg.Connection[Any], what: str, process: subprocess.Popen[str]) -> None:
    for _ in range(400):
        if looking.execute(_BLOCKED[what].replace("%%", "%").encode()).fetchall():
            return
        assert process.poll() is None
        time.sleep(0.05)
    raise AssertionError(
        looking.execute("SELECT query, wait_event_type FROM pg_stat_activity").fetchall()
    )


@pytest.mark.parametrize("step", ["discard_building", "_as_projector"])
def test_what_fails_after_an_interruption_does_not_take_its_place(
    store: Store, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """A connection that was interrupted twice is good for nothing: the driver says so."""
    begun = False

    def interrupted(*_: Any, **__: Any) -> Any:
        nonlocal begun
        begun = True
        raise KeyboardInterrupt

    used = getattr(runner, step)

    def unusable(*arguments: Any) -> Any:
        if begun:
            raise psycopg.OperationalError("another command is already in progress")
        return used(*arguments)

    with store.connect() as connection:
        runner.prepare(connection)
        with monkeypatch.context() as patched:
            patched.setattr(runner, "build_in_shares", interrupted)
            patched.setattr(runner, step, unusable)
            with pytest.raises(KeyboardInterrupt):
                runner.rebuild(connection)
    with store.connect() as connection:  # the lock is free
        runner.rebuild(connection)


def test_interrupted_again_before_the_server_has_heard_of_the_first(
    store: Store, tmp_path: Path
) -> None:
    """The server is slow: its process is stopped meanwhile."""
    with psycopg.connect(as_administrator(store.url), autocommit=True) as holder:
        holder.execute(_HELD)
        with subprocess.Popen(
            [*PROGRAM, "projections", "rebuild"],
            env=environment(store.url), cwd=tmp_path, stderr=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            while not (waiting := holder.execute(_WAITS).fetchall()):
                assert process.poll() is None
                time.sleep(0.05)
            [(backend,)] = waiting
            os.kill(backend, signal.SIGSTOP)
            try:
                process.send_signal(signal.SIGINT)
                time.sleep(0.3)
                process.send_signal(signal.SIGINT)
                _, said = process.communicate(timeout=60)
            finally:
                os.kill(backend, signal.SIGCONT)
    assert said == "interrupted\n"
    assert process.returncode == 130
