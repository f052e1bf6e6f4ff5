"""Ctrl-C during `projections rebuild`, and again before that is dealt with."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import psycopg
import pytest

from failproof_es.store.store import Store
from tests.acceptance.commands import PROGRAM, environment
from tests.conftest import as_administrator

_HELD = "SELECT pg_advisory_lock(hashtextextended('failproof.projections', 0))"
_WAITS = (
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
    "AND wait_event_type = 'Lock' AND wait_event = 'advisory'"
)


@pytest.mark.parametrize("after_s", [0.0, 0.005, 0.02, 0.05])
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
