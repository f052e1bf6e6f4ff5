"""Runs of sizes around a tile, disks that end, read models that are rebuilt meanwhile."""

from __future__ import annotations

import os
import resource
import subprocess
import threading
from functools import partial
from typing import Any

import pytest

import projections.batch as batching
from failproof_es.store.store import Store
from projections.runner import catch_up, prepare, rebuild
from tests.acceptance.archiving.conftest import Archive
from tests.acceptance.commands import PROGRAM, write_suite

_TABLES = ("evaluations", "run_groups", "token_usage", "run_asking", "run_latencies", "runs")


@pytest.mark.parametrize("evaluations", [1, pytest.param(64, marks=pytest.mark.slow)])
def test_a_run_of_any_size_goes_and_comes_back(archive: Archive, evaluations: int) -> None:
    write_suite(archive.folder, evaluations)
    archive.does("start", "run.yaml", "--quiet")
    before = archive.rows(3)
    archive.does("archive", "3", "--to", "old")
    assert len(archive.rows(3)) < 20
    assert "not checked" not in archive.does("verify", "--archive", "old")
    archive.does("attach", archive.file(3))
    assert archive.rows(3) == before
    assert "genuine" in archive.does("verify")


def test_a_file_that_the_disk_has_no_room_for(archive: Archive) -> None:
    """`ulimit -f`: the operating system refuses what is longer, wherever it ends.

    Without bytecode: the interpreter would leave the first part of it in this checkout.
    """
    before = archive.rows()
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (8 << 10, 8 << 10))
    variables = {
        **os.environ, "FAILPROOF_ES_DATABASE_URL": archive.url, "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    done = subprocess.run(
        [*PROGRAM, "archive", "1", "--to", "old"], cwd=archive.folder, env=variables,
        preexec_fn=limit, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2, done
    assert "Traceback" not in done.stderr
    assert archive.rows() == before
    assert not archive.file().exists()
    archive.does("archive", "1", "--to", "old")
    assert "genuine" in archive.does("verify", "--archive", "old")


def _rows(archive: Archive) -> dict[str, Any]:
    return {
        table: sorted(archive.query(f"SELECT to_json(t)::text FROM projections.{table} AS t"))
        for table in _TABLES
    }


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 7, 40])
@pytest.mark.thinned(whole=1)
@pytest.mark.wide
def test_archived_and_attached_while_the_read_models_are_rebuilt_and_followed(
    archive: Archive, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr(batching, "BATCH_EVENTS", batch)
    stop = threading.Event()
    failed: list[BaseException] = []

    def follow() -> None:
        try:
            with Store.open(archive.url) as store, store.connect() as connection:
                while not stop.is_set():
                    catch_up(connection)
                    rebuild(connection, processes=1)
        except BaseException as error:
            failed.append(error)

    with Store.open(archive.url) as store, store.connect() as connection:
        prepare(connection)
        thread = threading.Thread(target=follow)
        thread.start()
        for _ in range(2):
            archive.does("archive", "1", "2", "--to", "old")
            archive.does("attach", archive.file(1))
            archive.does("attach", archive.file(2))
            archive.file(1).unlink()
            archive.file(2).unlink()
        archive.does("archive", "2", "--to", "old")
        stop.set()
        thread.join()
        assert failed == []
        while catch_up(connection):
            pass
        followed = _rows(archive)
        rebuild(connection, processes=1)
        assert _rows(archive) == followed
        rebuild(connection, processes=2)
        assert _rows(archive) == followed
    assert "genuine" in archive.does("verify", "--archive", "old")
