"""Killed anywhere and resumed, a run never records more than its spend ceiling."""

from __future__ import annotations

import random
import time
from decimal import Decimal
from pathlib import Path

import pytest

from failproof_es.core.spend import HIDDEN_INPUT_TOKENS
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.store.reading.reader import find, resolve_run
from failproof_es.store.store import Store
from tests.acceptance.commands import (
    Process,
    asked,
    begin,
    kill_group,
    mock_server,
    run,
    stop_amid_requests,
    write_configuration,
    write_suite,
)

CASES = 350
KILLS = 3
SEED = 20261123
CEILING = Decimal(16)
MAX_TOKENS = 10
"""Twice what the mock writes: a request that dies counts as much as two answers."""
INPUT, OUTPUT = Decimal("0.00001"), Decimal("0.01")
"""US dollars for a token."""


def charges(store: Store) -> tuple[Decimal, Decimal]:
    """What the answers on record cost, and what the other requests may have cost at most: all
    reckoned here, from the raw events."""
    known, unknown = Decimal(0), Decimal(0)
    requests: dict[object, Decimal] = {}
    with store.connect() as connection:
        for row in find(connection, topics=["RequestSent", "ResponseReceived", "ErrorRecorded"]):
            payload = row.payload()
            if row.topic == "RequestSent":
                read = len(payload["body"].encode()) + HIDDEN_INPUT_TOKENS
                requests[row.stream_id, row.version] = read * INPUT + MAX_TOKENS * OUTPUT
            elif row.topic == "ResponseReceived":
                del requests[row.stream_id, row.version - 1]
                usage = payload["usage"]
                known += usage["input_tokens"] * INPUT + usage["output_tokens"] * OUTPUT
            else:
                assert payload["status"] == 500
        unknown = sum(requests.values(), Decimal(0))
    return known, unknown


def require_below(store: Store) -> None:
    known, unknown = charges(store)
    assert known + unknown <= CEILING
    with store.connect() as connection:
        shown = RecordedRun.read(connection, resolve_run(connection, "latest")).summary
    assert shown.spent.known_usd == known <= CEILING


def test_what_a_killed_process_had_in_flight_counts_with_its_worst_case(
    store: Store, tmp_path: Path
) -> None:
    with mock_server(0) as url:
        write_suite(tmp_path, 9, prompt="{n} [fault:silent]")
        configured(tmp_path, url, Decimal("0.49"), INPUT * 0)
        process = begin(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path)
        wait_for_requests(process, url, 4)
        kill_group(process)
        ended = run(store.url, "resume", "latest", "--quiet", cwd=tmp_path)
        assert ended.returncode == 1
        assert "$0.00 spent, and up to $0.40 for 4 requests without a known cost" in ended.stderr
        assert sum(asked(url).values()) == 4
        again = run(store.url, "resume", "latest", "--quiet", cwd=tmp_path)
        assert "up to $0.40 for 4 requests" in again.stderr, "AttemptOrphaned counts the same"


def configured(folder: Path, url: str, ceiling: Decimal, read: Decimal) -> None:
    listed = {
        "model": "mock",
        "input_usd_per_million": float(read * 1_000_000),
        "output_usd_per_million": float(OUTPUT * 1_000_000),
    }
    mock = {"provider": "openai", "base_url": url, "model": "mock", "max_tokens": MAX_TOKENS}
    write_configuration(
        folder,
        url,
        models=[mock],
        prices={"version": "2026-11-23", "models": [listed]},
        execution={"parallel_workers": 8, "retry_delay_ms": 1, "max_spend_usd": float(ceiling)},
    )


def wait_for_requests(process: Process, url: str, more: int) -> None:
    """Until the server was asked so many times more, or the run has paused by itself."""
    before = sum(asked(url).values())
    deadline = time.monotonic() + 60
    while process.poll() is None and sum(asked(url).values()) < before + more:
        assert time.monotonic() < deadline, "nothing more is asked"
        time.sleep(0.02)


@pytest.mark.slow
def test_killed_at_random_moments_a_run_never_records_more_than_its_ceiling(
    store: Store, tmp_path: Path
) -> None:
    moments = random.Random(SEED)
    with mock_server(latency_ms=20) as url:
        write_suite(tmp_path, CASES)
        lines = (tmp_path / "suite.jsonl").read_bytes().splitlines()
        odd = [line.replace(b"Say ", b"[fault:http500*1] ") for line in lines[::40]]
        lines[::40] = odd  # a server that breaks may have charged all the same
        (tmp_path / "suite.jsonl").write_bytes(b"\n".join(lines))
        configured(tmp_path, url, CEILING, INPUT)
        process = begin(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path)
        for kill in range(KILLS):
            wait_for_requests(process, url, moments.randint(1, 80))
            if kill == 0:
                stop_amid_requests(store, process)
            else:
                time.sleep(moments.uniform(0.0, 0.1))
            kill_group(process)
            require_below(store)
            process = begin(store.url, "resume", "latest", "--quiet", cwd=tmp_path)
        kill_group(process)
        ended = run(store.url, "resume", "latest", "--quiet", cwd=tmp_path)
        require_below(store)
        assert ended.returncode in (1, 2), "2 where the one before had paused the run already"
        assert f"paused: the spend ceiling of ${CEILING}.00 is reached" in ended.stderr
        known, unknown = charges(store)
        assert known + unknown > CEILING - Decimal("0.12"), "less than a request is left"
        assert unknown > 0, "the first kill met a request in flight"
        sent = sum(asked(url).values())
        again = run(store.url, "resume", "latest", "--quiet", "--json", cwd=tmp_path)
        assert again.returncode == 2
        assert f"the spend ceiling of ${CEILING}.00 is reached" in again.stderr
        assert sum(asked(url).values()) == sent
    verified = run(store.url, "verify", cwd=tmp_path)
    assert verified.returncode == 0, verified.stdout + verified.stderr
