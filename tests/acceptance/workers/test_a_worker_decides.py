"""Whoever can write to the log can plan a run. What it may do on a host, that host decides."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import Result

from failproof_es.store.store import Store
from tests.acceptance.commands import (
    begin,
    invoke,
    kill_group,
    mock_server,
    write_configuration,
    write_suite,
)
from tests.acceptance.runs.test_what_validate_does import Recorder

SECRET = "sk-0123456789abcdefghij"
CLASS = """
from pathlib import Path
Path({record!r}).write_text("ran")

class Client:
    def __init__(self, api_key, model_id):
        pass

    def get_completion(self, prompt, params):
        return "number 0"
"""
_PATIENCE_S = 90.0


@pytest.fixture
def hosts(tmp_path: Path) -> tuple[dict[str, str], dict[str, str]]:
    """The environments of who plans, and of another host that has the real keys."""
    planner, worker = tmp_path / "planner", tmp_path / "worker"
    for home in (planner, worker):
        home.mkdir(mode=0o700)
    return (
        {"FAILPROOF_ES_HOME": str(planner), "MY_KEY": "a placeholder of no worth"},
        {"FAILPROOF_ES_HOME": str(worker), "MY_KEY": SECRET},
    )


@pytest.fixture
def server() -> Iterator[Recorder]:
    """A server that is nobody's vendor, and lists the model `m`."""
    recorder = Recorder()
    yield recorder
    recorder.stop()


def planned(store: Store, folder: Path, model: dict[str, Any], planner: dict[str, str]) -> None:
    write_suite(folder, 2)
    write_configuration(folder, "", models=[model], execution={"retry_attempts": 0})
    done = invoke(store.url, "start", "run.yaml", "--detach", cwd=folder, **planner)
    assert done.exit_code == 0, done.output


def worked(store: Store, folder: Path, host: dict[str, str], *options: str) -> Result:
    done = invoke(store.url, "worker", "--run", "1", "--drain", *options, cwd=folder, **host)
    assert SECRET not in done.output
    return done


def test_a_worker_sends_a_variable_only_where_its_own_host_allows_it(
    store: Store,
    tmp_path: Path,
    server: Recorder,
    hosts: tuple[dict[str, str], dict[str, str]],
) -> None:
    planner, worker = hosts
    model = {"provider": "openai", "base_url": server.url, "model": "m", "api_key_env": "MY_KEY"}
    planned(store, tmp_path, model, planner)
    before = len(server.requests)
    refused = worked(store, tmp_path, worker)
    assert refused.exit_code == 2 and len(server.requests) == before
    assert f"--allow MY_KEY={server.host}" in refused.stderr
    assert "allowed here: no class runs" in refused.stderr
    assert "allowed here: a vendor's key to the vendor's own host" in refused.stderr
    allowed = worked(store, tmp_path, worker, "--allow", f"MY_KEY={server.host}")
    assert f"allowed here: MY_KEY -> {server.host}" in allowed.stderr
    assert f"MY_KEY -> {server.host} (http)" in allowed.stderr.splitlines()
    assert ("GET", "/v1/models", f"Bearer {SECRET}") in server.requests


@pytest.mark.slow
def test_a_worker_runs_a_class_only_where_its_own_host_allows_it(
    store: Store,
    tmp_path: Path,
    hosts: tuple[dict[str, str], dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    planner, worker = hosts
    record = tmp_path / "record"
    name = f"planned_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(CLASS.format(record=str(record)))
    monkeypatch.syspath_prepend(str(tmp_path))
    model = {"provider": "python", "class": f"{name}:Client", "model": "mine"}
    planned(store, tmp_path, model, planner)
    record.unlink()  # the planner ran it: it is its own
    monkeypatch.delitem(__import__("sys").modules, name)
    refused = worked(store, tmp_path, worker)
    assert refused.exit_code == 2 and f"--allow-class {name}:Client" in refused.stderr
    assert not record.exists()
    allowed = worked(store, tmp_path, worker, "--allow-class", f"{name}:Client")
    assert allowed.exit_code == 0, allowed.output
    assert f"runs the class {name}:Client" in allowed.stderr and record.exists()


def test_a_worker_that_drains_and_may_drive_nothing_says_so_and_exits_2(
    store: Store,
    tmp_path: Path,
    server: Recorder,
    hosts: tuple[dict[str, str], dict[str, str]],
) -> None:
    """It exits as the runs that it drives, if there are any: others may drive the rest."""
    planner, worker = hosts
    model = {"provider": "openai", "base_url": server.url, "model": "m", "api_key_env": "MY_KEY"}
    planned(store, tmp_path, model, planner)
    refused = invoke(store.url, "worker", "--drain", "--quiet", cwd=tmp_path, **worker)
    assert refused.exit_code == 2, refused.output
    assert f"--allow MY_KEY={server.host}" in refused.stderr, "the reason"
    last = refused.stderr.splitlines()[-1]
    assert "1 open run" in last and last.endswith(" [run-refused]")
    with mock_server(latency_ms=0) as url:
        free = {"provider": "openai", "base_url": url, "model": "mock"}
        planned(store, tmp_path, free, planner)
        mixed = invoke(store.url, "worker", "--drain", "--quiet", cwd=tmp_path, **worker)
    assert mixed.exit_code == 0, mixed.output
    assert "cannot be driven here" in mixed.stderr and "run 2 acceptance: completed" in mixed.stderr


def test_the_reason_why_a_worker_refuses_a_run_stands_in_the_list_of_workers(
    store: Store,
    tmp_path: Path,
    server: Recorder,
    hosts: tuple[dict[str, str], dict[str, str]],
) -> None:
    planner, worker = hosts
    model = {"provider": "openai", "base_url": server.url, "model": "m", "api_key_env": "MY_KEY"}
    planned(store, tmp_path, model, planner)
    process = begin(store.url, "worker", "--quiet", cwd=tmp_path, **worker)
    try:
        until = time.monotonic() + _PATIENCE_S
        refusals: list[str] = []
        while not refusals and time.monotonic() < until:
            listed = orjson.loads(invoke(store.url, "workers", "--json", cwd=tmp_path).stdout)
            refusals = [reason for row in listed for reason in row["refuses"]]
            time.sleep(0.2)
        [reason] = refusals
        assert reason.startswith("run 1: models[0].api_key_env: MY_KEY would go to")
        assert f"--allow MY_KEY={server.host}" in reason
        shown = invoke(store.url, "workers", cwd=tmp_path).stdout
        assert f"refuses {reason}" in shown
    finally:
        kill_group(process)


def test_a_run_that_somebody_else_planned_is_resumed_only_with_what_its_own_host_allows(
    store: Store, tmp_path: Path, hosts: tuple[dict[str, str], dict[str, str]]
) -> None:
    planner, other = hosts
    with mock_server(latency_ms=0) as url:
        model = {"provider": "openai", "base_url": url, "model": "mock", "api_key_env": "MY_KEY"}
        planned(store, tmp_path, model, planner)
        refused = invoke(store.url, "resume", "1", "--quiet", cwd=tmp_path, **other)
        host = url.removeprefix("http://").removesuffix("/v1")
        assert refused.exit_code == 2 and f"--allow MY_KEY={host}" in refused.stderr
        several = invoke(store.url, "resume", "1", "--workers", "2", cwd=tmp_path, **other)
        assert several.exit_code == 2 and "joined" not in several.stderr
        branched = invoke(store.url, "resume", "1", "--again", "errors", cwd=tmp_path, **other)
        assert branched.exit_code == 2 and f"--allow MY_KEY={host}" in branched.stderr
        own = invoke(store.url, "resume", "1", "--quiet", cwd=tmp_path, **planner)
        assert own.exit_code in (0, 3), own.output
        again = ("resume", "1", "--again", "failed")
        ended = invoke(store.url, *again, cwd=tmp_path, **other)
        assert ended.exit_code == 2 and f"--allow MY_KEY={host}" in ended.stderr
