"""A spend ceiling that several workers keep together, whatever happens to any of them."""

from __future__ import annotations

import asyncio
import random
import time
from contextlib import ExitStack, closing
from decimal import Decimal
from pathlib import Path

import pytest

from failproof_es.core.sharding.shards import PlanPart, shard_pieces, shard_size
from failproof_es.core.spend import HIDDEN_INPUT_TOKENS
from failproof_es.engine.history import read_run
from failproof_es.engine.limits.recorded_spending import recorded_spending
from failproof_es.engine.limits.spend_slice import SpendSlice
from failproof_es.engine.workers.shared_budget import RunBudgets
from failproof_es.store.reading.reader import find, resolve_run
from failproof_es.store.store import Store
from failproof_es.store.writing.lease import ShardLeases
from failproof_es.store.writing.shared_state import SharedState, set_ceiling
from tests.acceptance.commands import (
    asked,
    begin,
    kill_group,
    mock_server,
    run,
    stop_amid_requests,
    write_configuration,
    write_suite,
)
from tests.acceptance.workers.processes import begin_worker, count, end_of, wait_until

SEED = 20261123
MAX_TOKENS = 10
"""Twice what the mock writes: a request that dies counts as much as two answers."""
READ, WRITTEN = Decimal("0.00001"), Decimal("0.01")
"""US dollars for a token."""


def charges(store: Store) -> tuple[Decimal, Decimal]:
    """What the answers on record cost, and what the other requests may have cost at most: all
    reckoned here, from the raw events."""
    known = Decimal(0)
    requests: dict[object, Decimal] = {}
    with store.connect() as connection:
        for row in find(connection, topics=["RequestSent", "ResponseReceived"]):
            payload = row.payload()
            if row.topic == "RequestSent":
                read = len(payload["body"].encode()) + HIDDEN_INPUT_TOKENS
                requests[row.stream_id, row.version] = read * READ + MAX_TOKENS * WRITTEN
            else:
                del requests[row.stream_id, row.version - 1]
                usage = payload["usage"]
                known += usage["input_tokens"] * READ + usage["output_tokens"] * WRITTEN
    return known, sum(requests.values(), Decimal(0))


def configured(folder: Path, url: str, ceiling: str | None, cases: int) -> None:
    write_suite(folder, cases)
    listed = {
        "model": "mock",
        "input_usd_per_million": float(READ * 1_000_000),
        "output_usd_per_million": float(WRITTEN * 1_000_000),
    }
    execution = {"parallel_workers": 4, "retry_delay_ms": 1}
    write_configuration(
        folder,
        url,
        models=[{"provider": "openai", "base_url": url, "model": "mock", "max_tokens": MAX_TOKENS}],
        prices={"version": "2026-11-23", "models": [listed]},
        execution=execution if ceiling is None else {**execution, "max_spend_usd": float(ceiling)},
    )


@pytest.mark.slow
def test_two_workers_stop_at_the_ceiling_and_leave_nothing_of_it_unused(
    store: Store, tmp_path: Path
) -> None:
    with mock_server(latency_ms=20) as url:
        configured(tmp_path, url, "3", 80)
        ended = run(store.url, "start", "run.yaml", "--workers", "2", "--quiet", cwd=tmp_path)
        assert ended.returncode == 1, ended.stderr
        assert "paused: the spend ceiling of $3.00 is reached" in ended.stderr
        known, unknown = charges(store)
        assert unknown == 0, "nothing was killed"
        assert Decimal("2.89") - Decimal("0.0502") < known <= 3, "the next may cost $0.11"
        assert count(store, "RunPaused") == 1
        again = run(store.url, "resume", "1", "--workers", "2", "--quiet", cwd=tmp_path)
        assert (again.returncode, "$3.00 is reached" in again.stderr) == (2, True), again.stderr
        assert sum(charges(store)) == known
        more = run(
            store.url, "resume", "1", "--workers", "2", "--max-spend", "99", "--quiet", cwd=tmp_path
        )
        assert more.returncode == 0, more.stderr
        assert sum(asked(url).values()) == 80
    assert (count(store, "SpendCeilingChanged"), count(store, "RunSealed")) == (1, 1)


@pytest.mark.slow
@pytest.mark.wide
def test_what_one_process_spent_counts_for_workers_and_the_other_way_round(
    store: Store, tmp_path: Path
) -> None:
    with mock_server(latency_ms=5) as url:
        configured(tmp_path, url, "1", 200)
        for ceiling, more in ((1, []), (2, ["--workers", "2"]), (3, []), (4, ["--workers", "2"])):
            how = (
                ["start", "run.yaml"]
                if ceiling == 1
                else ["resume", "1", "--max-spend", str(ceiling)]
            )
            ended = run(store.url, *how, *more, "--quiet", cwd=tmp_path)
            assert f"ceiling of ${ceiling}.00 is reached" in ended.stderr
            known, unknown = charges(store)
            assert ceiling - Decimal("0.17") < known <= ceiling and unknown == 0


def test_who_takes_a_shard_over_counts_what_the_one_before_spent(
    store: Store, tmp_path: Path
) -> None:
    """Answers, errors, and requests that nobody recorded an outcome of: each in its shard."""
    with mock_server(latency_ms=0) as url:
        configured(tmp_path, url, "50", 64)
        lines = (tmp_path / "suite.jsonl").read_bytes().splitlines()
        lines[20] = lines[20].replace(b"Say ", b"[fault:http500*1] Say ")
        for place in (30, 40, 50):
            lines[place] = lines[place].replace(b"Say ", b"[fault:silent] Say ")
        (tmp_path / "suite.jsonl").write_bytes(b"\n".join(lines))
        process = begin(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path)
        wait_until(store, "RequestSent", 65)
        wait_until(store, "Scored", 61)
        kill_group(process)
    known, unknown = charges(store)
    assert unknown > 4 * Decimal("0.1"), "the error, and those in flight"
    with store.connect() as connection:
        run_id = resolve_run(connection, "1")
        state = read_run(connection, run_id)
    size = shard_size(64)

    async def count_all() -> list[SpendSlice | None]:
        with ShardLeases(store.url, "heir") as leases, closing(SharedState(store.url)) as shared:
            alone = leases.claim(run_id, alone=True)
            assert alone is not None
            set_ceiling(shared, alone, Decimal(50), 1)
            leases.release(alone)
            budgets, found = RunBudgets(store, leases, shared), []
            for shard in range(64 // size):
                lease = leases.claim(run_id, shard)
                assert lease is not None
                part = PlanPart(shard_pieces(64, size, shard), 1)
                found.append(await budgets.slice_of(state, lease, part, 4))
            return found

    assert all(asyncio.run(count_all()))
    with store.connect() as connection:
        row = connection.execute(
            "SELECT sum(known_usd), sum(unknown_usd), sum(reserved_usd) "
            "FROM failproof.shard_budget_list"
        ).fetchone()
        counted = recorded_spending(connection, state)
    assert row == (known, unknown, 0)
    assert (counted.known_usd, counted.unknown) == (known, unknown)


@pytest.mark.parametrize("kills", [2, pytest.param(6, marks=pytest.mark.wide)])
@pytest.mark.slow
def test_workers_killed_at_random_moments_never_record_more_than_the_ceiling(
    store: Store, tmp_path: Path, workers: ExitStack, kills: int
) -> None:
    moments = random.Random(SEED)
    ceiling = Decimal(4 * kills)
    with mock_server(latency_ms=20) as url:
        configured(tmp_path, url, str(ceiling), 100 * kills)
        planned = run(store.url, "start", "run.yaml", "--detach", "--quiet", cwd=tmp_path)
        assert planned.returncode == 0, planned.stderr
        alive = [begin_worker(workers, store, tmp_path, "--drain", "--quiet") for _ in range(2)]
        for kill in range(kills):
            wait_until(store, "RequestSent", count(store, "RequestSent") + moments.randint(5, 60))
            if kill == 0:
                stop_amid_requests(store, *alive)
                killed, alive = alive, []
            else:
                time.sleep(moments.uniform(0.0, 0.1))
                killed = [alive.pop(moments.randrange(2))]
            for each in killed:
                each.kill()
                each.wait()
            assert sum(charges(store)) <= ceiling
            alive += [begin_worker(workers, store, tmp_path, "--drain", "--quiet") for _ in killed]
        for each in alive:
            assert f"run 1 paused: the spend ceiling of ${ceiling}" in end_of(each, code=1)
        known, unknown = charges(store)
        assert known + unknown <= ceiling
        assert known + unknown > ceiling - Decimal("0.12"), "less than a request is left"
        assert unknown > 0, "the first kill met a request in flight"
        assert count(store, "RunPaused") == 1
    verified = run(store.url, "verify", cwd=tmp_path)
    assert verified.returncode in (0, 3), verified.stdout + verified.stderr
