"""Limits of a provider key hold over all workers, whatever happens to one."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.store import Store
from tests.acceptance.commands import hurry, mock_server, run, write_configuration, write_suite
from tests.acceptance.workers.processes import begin_worker, count, end_of, wait_until
from tests.conftest import open_copy


def load(url: str) -> tuple[int, list[float]]:
    """How many requests the server had at once, and when each came."""
    with httpx.Client(verify=False) as client:
        found: dict[str, Any] = client.get(url.removesuffix("/v1") + "/load").json()
    return found["most"], found["came"]


def wait_for_two_at_once(url: str, since: float, seconds: float = 90) -> None:
    """Until two requests come within less than the 0.3 s that the server takes to answer one."""
    deadline = time.monotonic() + seconds
    while not any(
        since < before and after - before < 0.25 for before, after in pairwise(load(url)[1])
    ):
        assert time.monotonic() < deadline, "the share of the killed worker did not come back"
        time.sleep(0.2)


def plan(store: Store, folder: Path, url: str, cases: int, **how: Any) -> None:
    write_suite(folder, cases)
    plan_again(store, folder, url, **how)


def plan_again(
    store: Store,
    folder: Path,
    url: str,
    at_once: int = 4,
    home: Mapping[str, str] | None = None,
    **limits: int,
) -> None:
    write_configuration(
        folder,
        url,
        models=[{"provider": "openai", "base_url": url, "model": "mock", **limits}],
        execution={"parallel_workers": at_once, "retry_attempts": 2, "retry_delay_ms": 10},
    )
    how = ("run.yaml", "--detach", "--quiet")
    planned = run(store.url, "start", *how, cwd=folder, **(home or {}))
    assert planned.returncode == 0, planned.stderr


def most_in_a_minute(came: list[float]) -> int:
    return max(sum(then <= at < then + 60 for at in came) for then in came)


def one_is_killed_and_two_come(store: Store, folder: Path) -> list[float]:
    """When each request of their run came, 40 a minute: it takes more than one minute."""
    home = {"FAILPROOF_ES_HOME": str(folder / "home")}
    with mock_server(latency_ms=20) as url, ExitStack() as workers:
        plan(store, folder, url, 60, requests_per_minute=40, home=home)
        first = begin_worker(workers, store, folder, "--drain", **home)
        wait_until(store, "Scored", 10)
        first.kill()
        first.wait()
        for _ in range(2):
            last = begin_worker(workers, store, folder, "--drain", **home)
        end_of(last, seconds=300)
        return load(url)[1]


@dataclass(frozen=True, slots=True)
class BackgroundRun:
    """A run of several minutes, while other tests are run."""

    store: Store
    came: Future[list[float]]


@pytest.fixture(scope="module", autouse=True)
def run_of_minutes(
    request: pytest.FixtureRequest,
    postgres_server: EmbeddedServer,
    migrated_database: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[BackgroundRun | None]:
    """The one that the last test asks for, if it is selected."""
    if _LAST not in {item.name for item in request.session.items}:
        yield None
        return
    folder = tmp_path_factory.mktemp("minutes")
    with open_copy(postgres_server, migrated_database) as store, ThreadPoolExecutor(1) as thread:
        yield BackgroundRun(store, thread.submit(one_is_killed_and_two_come, store, folder))


@pytest.mark.slow
def test_two_workers_have_no_more_requests_in_flight_than_their_key_may_and_a_share_comes_back(
    store: Store, tmp_path: Path, workers: ExitStack
) -> None:
    with mock_server(latency_ms=300) as url:
        plan(store, tmp_path, url, 100, at_once=6, concurrent_requests=2)
        killed, other = (begin_worker(workers, store, tmp_path, "--drain") for _ in range(2))
        wait_until(store, "WorkerJoined", 2)
        wait_until(store, "Scored", count(store, "Scored") + 10)
        killed.kill()
        killed.wait()
        wait_for_two_at_once(url, since=time.monotonic())
        hurry(url)
        end_of(other)
        most, _ = load(url)
        assert most == 2
    assert count(store, "Scored") == 100
    assert count(store, "RunSealed") == 1


@pytest.mark.slow
@pytest.mark.wide
def test_a_minutes_requests_are_shared_by_two_workers(
    store: Store, tmp_path: Path, workers: ExitStack
) -> None:
    with mock_server(latency_ms=20) as url:
        plan(store, tmp_path, url, 60, requests_per_minute=24)
        for _ in range(2):
            begin_worker(workers, store, tmp_path, "--drain")
        wait_until(store, "WorkerJoined", 2)
        wait_until(store, "Scored", 22)
        time.sleep(6)
        _, came = load(url)
        assert 22 <= len(came) <= 24
        assert count(store, "RequestSent") <= 24, "who waits has not recorded a request yet"
        listed = run(store.url, "workers", "--json", cwd=tmp_path)
        shares = [share for each in orjson.loads(listed.stdout) for share in each["limits"]]
        assert {share["server"] for share in shares} == {url}
        assert any(share["waiting"] for share in shares)
        assert sum(share["requests"] for share in shares) <= 24
        assert "waits" in run(store.url, "workers", cwd=tmp_path).stdout


@pytest.mark.slow
@pytest.mark.wide
def test_tokens_of_a_minute_are_shared_by_two_workers(
    store: Store, tmp_path: Path, workers: ExitStack
) -> None:
    """The mock uses 15 tokens for each answer. A request may need about 150, until it is known."""
    with mock_server(latency_ms=20) as url:
        plan(store, tmp_path, url, 60, tokens_per_minute=400, max_tokens=10)
        for _ in range(2):
            begin_worker(workers, store, tmp_path, "--drain")
        wait_until(store, "WorkerJoined", 2)
        wait_until(store, "Scored", 10)
        time.sleep(8)
        _, came = load(url)
        assert 10 <= len(came) <= 400 / 15


@pytest.mark.slow
def test_a_retry_after_that_one_worker_was_told_stops_the_other(
    store: Store, tmp_path: Path, workers: ExitStack
) -> None:
    with mock_server(latency_ms=150) as url:
        write_suite(tmp_path, 160)
        lines = (tmp_path / "suite.jsonl").read_bytes().splitlines()
        lines[60] = lines[60].replace(b"Say ", b"[fault:http429for5s*1] Say ")
        (tmp_path / "suite.jsonl").write_bytes(b"\n".join(lines))
        plan_again(store, tmp_path, url)
        both = [begin_worker(workers, store, tmp_path, "--drain") for _ in range(2)]
        for each in both:
            end_of(each)
        _, came = load(url)
        longest = max(after - before for before, after in pairwise(came))
        assert longest > 3.5, "nobody sent anything but in the first second and a half"
        assert len(came) == 161
    assert count(store, "Scored") == 160
    assert count(store, "EvaluationAbandoned") == 0
    assert count(store, "RunPaused") == 0


@pytest.mark.slow
def test_no_minute_has_more_than_its_requests_though_workers_come_and_die(
    run_of_minutes: BackgroundRun,
) -> None:
    assert most_in_a_minute(run_of_minutes.came.result()) <= 40
    assert count(run_of_minutes.store, "Scored") == 60


_LAST = test_no_minute_has_more_than_its_requests_though_workers_come_and_die.__name__
