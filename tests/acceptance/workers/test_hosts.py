"""Workers on several hosts: each host has a home of its own, and one of them the log's key."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import orjson
import pytest

from failproof_es.store.schema.installation import WRITER
from failproof_es.store.store import Store
from tests.acceptance.commands import hurry, mock_server, run
from tests.acceptance.workers.processes import (
    begin_worker,
    count,
    end_of,
    plan,
    require_exactly_once,
    wait_until,
)

CASES = 100


def keys(home: Path) -> list[Path]:
    return list(home.rglob("*.key"))


@pytest.mark.slow
def test_no_worker_takes_a_log_of_another_hosts_key_for_an_attack(
    store: Store, tmp_path: Path, home: Path, workers: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mock_server(latency_ms=500) as url:
        plan(store, tmp_path, url, CASES)
        assert len(keys(home)) == 1
        begun = []
        for name in ("first", "second", "killed"):
            other = tmp_path / name
            other.mkdir(mode=0o700)
            monkeypatch.setenv("FAILPROOF_ES_HOME", str(other))
            begun.append(begin_worker(workers, store, tmp_path, "--drain"))
        wait_until(store, "WorkerJoined", 3)
        wait_until(store, "RequestSent", count(store, "RequestSent") + 8)
        begun[2].kill()
        begun[2].wait()
        hurry(url)
        said = [end_of(each) for each in begun[:2]]
        require_exactly_once(store, url, CASES)
    assert keys(tmp_path) == []
    for each in said:
        assert "has no key of the log" in each
        assert "error" not in each
        assert "warning" not in each
    monkeypatch.setenv("FAILPROOF_ES_HOME", str(home))
    assert run(store.url, "verify", "1", cwd=tmp_path).returncode == 3, "not signed yet"
    assert run(store.url, "ledger", "checkpoint", cwd=tmp_path).returncode == 0
    assert run(store.url, "verify", "1", cwd=tmp_path).returncode == 0

    assert "1 of them ended without saying so" in run(store.url, "show", "1").stdout
    page = run(store.url, "report", "1", "--format", "md", "-o", "-", cwd=tmp_path).stdout
    assert "3 workers on " in page
    report = orjson.loads(
        run(store.url, "report", "1", "--format", "json", "-o", "-", cwd=tmp_path).stdout
    )
    shown = orjson.loads(run(store.url, "show", "1", "--json").stdout)
    told = [
        [(each["worker"], each["host"], each["evaluations"]) for each in workers]
        for workers in (report["asked"][0]["run"]["workers"], shown["workers"])
    ]
    assert told[0] == told[1]
    assert shown["counts"]["finished"] == CASES
    left = [each for each in shown["workers"] if each["left_at"] is not None]
    assert (len(shown["workers"]), len(left)) == (3, 2)
    assert 0 < sum(each["evaluations"] for each in left) <= CASES
    assert (
        count(store, "AttemptOrphaned") == shown["counts"]["orphaned_requests"]
    )  # none if it had no shard yet


def test_who_may_not_make_the_schema_is_told_who_does(
    database_url: str, store: Store, tmp_path: Path
) -> None:
    as_worker = database_url.replace("//postgres@", f"//{WRITER}@")
    refused = run(as_worker, "db", "init", cwd=tmp_path)
    assert refused.returncode == 2, refused.stderr
    assert "an administrator does, with `failproof-es db init`" in refused.stderr
    assert "[permission-denied]" in refused.stderr
