"""A process that is stopped while it drives a run, replaced, and continued."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from failproof_es.store.store import Store
from failproof_es.store.writing.lease import LEASE_S
from tests.acceptance.commands import (
    begin,
    kill_group,
    mock_server,
    run,
    stop_amid_requests,
    write_configuration,
    write_suite,
)
from tests.acceptance.faults.test_crash import (
    CASES,
    check_the_record,
    events,
    wait_for_a_run,
)


@pytest.mark.slow
def test_a_process_that_is_paused_is_replaced_within_its_lease_and_writes_nothing_more(
    store: Store, tmp_path: Path
) -> None:
    """As on a host that lost power: the server believes in its session all the time."""
    with mock_server(latency_ms=200) as url:
        write_suite(tmp_path, CASES)
        execution = {"parallel_workers": 12, "retry_attempts": 2, "retry_delay_ms": 10}
        write_configuration(tmp_path, url, execution=execution)
        first = begin(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path)
        try:
            wait_for_a_run(store)
            stop_amid_requests(store, first)
            stopped = time.monotonic()
            refused = run(store.url, "resume", "latest", "--quiet", cwd=tmp_path)
            assert refused.returncode == 1
            assert "being driven" in refused.stderr and "try again in" in refused.stderr
            time.sleep(max(0.0, LEASE_S + 1 - (time.monotonic() - stopped)))
            second = run(store.url, "resume", "latest", "--quiet", cwd=tmp_path)
            assert second.returncode == 0, second.stderr
            check_the_record(store, url)
            assert events(store, "AttemptOrphaned") > 0
            first.send_signal(signal.SIGCONT)
            _, stderr = first.communicate(timeout=60)
            assert first.returncode == 1, stderr.decode()
            check_the_record(store, url)
        finally:
            kill_group(first)
