"""The tables of the projections after a command: all hold what is recorded, none is left behind."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from failproof_es.store.reading.reader import find
from failproof_es.store.store import Store
from projections import PROJECTIONS
from projections.runner import status
from tests.acceptance.commands import Process, begin, hurry, kill_group, mock_server, run
from tests.acceptance.warm import OWN_CHILDREN
from tests.acceptance.workers.processes import begin_worker, end_of, plan, wait_until
from tests.processes import children_with


def lagging(store: Store, position: int | None = None) -> dict[str, int]:
    """By projection, how many positions it is behind: the end of the log, or this position."""
    with store.connect() as connection:
        standing = status(connection)
    assert len(standing) == len(PROJECTIONS)
    behind = {
        each.name: each.behind if position is None else position - each.position
        for each in standing
    }
    return {name: number for name, number in behind.items() if number > 0}


def sealed_at(store: Store) -> int:
    with store.connect() as connection:
        [row] = find(connection, topics=["RunSealed"])
    return row.position


def kill_follower(process: Process) -> None:
    """Kill the process that follows the log beside this command, as soon as it is there."""
    while process.poll() is None:
        for child in children_with("projections.follower", process.pid, recursive=True):
            child.kill()
            return
        time.sleep(0.2)
    raise AssertionError("there was no follower")


@pytest.mark.slow
def test_a_run_whose_follower_was_killed_leaves_no_table_behind(
    store: Store, tmp_path: Path
) -> None:
    with mock_server(400) as url:
        plan(store, tmp_path, url, 80)
        own = {OWN_CHILDREN: "1"}
        process = begin(store.url, "resume", "1", "--quiet", cwd=tmp_path, **own)
        kill_follower(process)
        hurry(url)
        said = end_of(process)
    assert lagging(store) == {}
    assert "stopped following" not in said


def test_who_reads_a_run_that_was_killed_brings_every_table_up(
    store: Store, tmp_path: Path
) -> None:
    with mock_server(100) as url:
        plan(store, tmp_path, url, 60)
        process = begin(store.url, "resume", "1", "--quiet", cwd=tmp_path)
        wait_until(store, "Scored", 8)
        kill_group(process)
    assert lagging(store)
    assert run(store.url, "show", "1", cwd=tmp_path).returncode == 0
    assert lagging(store) == {}


@pytest.mark.slow
def test_the_tables_hold_a_run_when_wait_returns(
    store: Store, tmp_path: Path, workers: ExitStack
) -> None:
    with mock_server(100) as url:
        plan(store, tmp_path, url, 40)
        begin_worker(workers, store, tmp_path, "--quiet")
        assert run(store.url, "wait", "1", cwd=tmp_path).returncode == 0
        assert lagging(store, sealed_at(store)) == {}
