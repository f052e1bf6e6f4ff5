"""A branch that workers drive carries over what a branch of one process does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson
import psycopg
import pytest

from failproof_es.cli.commands import local_workers
from failproof_es.engine.history import RecordedEvaluation, read_evaluations
from failproof_es.models.trust.permissions import Permissions
from failproof_es.store.reading.reader import resolve_run
from failproof_es.store.store import Store
from tests.acceptance.commands import (
    asked,
    invoke,
    mock_server,
    run,
    write_configuration,
    write_suite,
)
from tests.acceptance.workers.processes import begin_worker, count, end_of

CASES = 12


def begin_first(store: Store, folder: Path, url: str) -> None:
    """Run 1, which abandons one case: the server refuses it, once."""
    suite = write_suite(folder, CASES)
    cases = [orjson.loads(line) for line in suite.read_bytes().splitlines()]
    cases[3]["prompt"] += " [fault:http400*1]"
    suite.write_bytes(b"\n".join(map(orjson.dumps, cases)))
    write_configuration(folder, url)
    done = run(store.url, "start", "run.yaml", "--quiet", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (count(store, "Scored"), count(store, "EvaluationAbandoned")) == (CASES - 1, 1)


def require_branch(store: Store, folder: Path, url: str) -> None:
    """Run 2 has a score for every case, and asked what run 1 had abandoned."""
    shown = run(store.url, "show", "2", "--json", cwd=folder)
    facts = orjson.loads(shown.stdout)
    assert (facts["status"], facts["counts"]["scored"]) == ("completed", CASES)
    assert facts["branched_from"]["again"] == "abandoned"
    assert count(store, "CarriedOver") == CASES - 1
    assert sum(asked(url).values()) == count(store, "RequestSent") == CASES + 1
    assert count(store, "RunSealed") == 2
    verified = run(store.url, "verify", "2", cwd=folder)
    assert verified.returncode in (0, 3), verified.stderr


def carried_over_told(store: Store) -> list[RecordedEvaluation]:
    """What is told of run 2 to whoever looks when it is over already."""

    async def begin(say: object) -> UUID:
        raise AssertionError("it has begun")

    async def tell() -> None:
        over = asyncio.Event()
        over.set()
        workers = local_workers.LocalWorkers(store, 1, begin, Permissions(), shows_progress=True)
        await workers._report_events(run_id, 0, lambda event: None, told.append, over)

    with store.connect() as connection:
        run_id = resolve_run(connection, "2")
    told: list[RecordedEvaluation] = []
    asyncio.run(tell())
    return told


def after_one_outage() -> Callable[..., list[RecordedEvaluation]]:
    """Reads evaluations, and loses the first answer with its connection."""
    outages = iter([psycopg.OperationalError("the connection is lost")])

    def read(*arguments: Any) -> list[RecordedEvaluation]:
        evaluations = read_evaluations(*arguments)
        if (outage := next(outages, None)) is not None:
            raise outage
        return evaluations

    return read


def folders_of_workers(patched: pytest.MonkeyPatch) -> list[Path]:
    """The folder for shared checks of each worker that is begun from now on."""
    folders: list[Path] = []
    create = asyncio.create_subprocess_exec

    async def begin(*arguments: Any, **settings: Any) -> Any:
        folders.append(Path(arguments[arguments.index("--shared-checks") + 1]))
        assert folders[-1].is_dir()
        return await create(*arguments, **settings)

    patched.setattr(asyncio, "create_subprocess_exec", begin)
    return folders


@pytest.mark.slow
def test_local_workers_drive_a_branch_and_its_progress_counts_what_it_carries_over(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mock_server(0) as url, monkeypatch.context() as patched:
        begin_first(store, tmp_path, url)
        folders = folders_of_workers(patched)
        how = ("--retry-abandoned", "--workers", "2", "--json")
        done = invoke(store.url, "resume", "1", *how, cwd=tmp_path)
        assert done.exit_code == 0, done.output
        assert len(folders) == 2 and folders[0] == folders[1], "they share their checks"
        assert not folders[0].exists()
        assert orjson.loads(done.stdout)["counts"]["scored"] == CASES
        assert count(store, "WorkerJoined") >= 1, "the first may be done before the second begins"
        require_branch(store, tmp_path, url)
    told: list[dict[str, Any]] = [
        orjson.loads(line) for line in done.stderr.splitlines() if line.startswith("{")
    ]
    assert told[-1]["details"]["phase"] == "completed"
    (model,) = told[-1]["details"]["models"]
    assert (model["finished"], model["carried_over"]) == (CASES, CASES - 1)
    assert len(carried_over_told(store)) == CASES - 1
    monkeypatch.setattr(local_workers, "read_evaluations", after_one_outage())
    assert len(carried_over_told(store)) == CASES - 1, "each is told once"
    monkeypatch.setattr(local_workers, "_AT_ONCE", 5)
    monkeypatch.setattr(local_workers, "_MOST_READ_AFTERWARDS", 1)
    assert 0 < len(carried_over_told(store)) <= 5, "a run that is over is not read for long"


@pytest.mark.slow
def test_a_branch_is_left_to_a_worker(store: Store, tmp_path: Path, workers: ExitStack) -> None:
    with mock_server(0) as url:
        begin_first(store, tmp_path, url)
        how = ("--retry-abandoned", "--detach", "--json")
        done = run(store.url, "resume", "1", *how, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert orjson.loads(done.stdout)["status"] == "running"
        assert (count(store, "RunStarted"), count(store, "CarriedOver")) == (2, 0)
        end_of(begin_worker(workers, store, tmp_path, "--run", "2", "--drain"))
        require_branch(store, tmp_path, url)


def test_what_cannot_be_branched_is_refused_before_anything_is_planned(
    store: Store, tmp_path: Path
) -> None:
    with mock_server(0) as url:
        write_suite(tmp_path, CASES)
        write_configuration(tmp_path, url)
        done = invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path)
        assert done.exit_code == 0, done.output
        for way in (("--detach",), ("--workers", "2")):
            refused = invoke(
                store.url, "resume", "1", "--retry-abandoned", "--quiet", *way, cwd=tmp_path
            )
            assert refused.exit_code == 2
            assert "[nothing-to-ask]" in refused.stderr
    assert count(store, "RunStarted") == 1
