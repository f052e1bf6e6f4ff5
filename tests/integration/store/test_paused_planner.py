"""A process that is stopped while it holds up every append is cut off."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from failproof_es.store.store import Store
from failproof_es.store.writing.recorder import EventRecorder
from tests.integration.store.test_journal import an_event

CUT_OFF_S = 10.0
BUSY_S = 5.0
"""What a busy machine adds to it."""
_PLANS = """
import sys, time, uuid
from failproof_es.store.connecting import connect

with connect(sys.stdin.readline().strip()) as connection, connection.transaction():
    connection.execute({statement!r}, (uuid.uuid4(),))
    print("within", flush=True)
    time.sleep(300)
"""
_NUMBER = "SELECT failproof.number_run(%s)"
_APPEND = "SELECT failproof.append('{{}}', '{{}}', '{{}}', '{{}}', '{{}}', '{{}}'), %s"


@pytest.mark.slow
@pytest.mark.parametrize("statement", [_NUMBER, _APPEND], ids=["numbering", "appending"])
@pytest.mark.thinned(whole=1)
def test_a_planner_that_is_stopped_within_its_transaction_stops_appends_for_ten_seconds_at_most(
    store: Store, statement: str
) -> None:
    recorder = store.log.recorder
    assert isinstance(recorder, EventRecorder)
    entry = store.log.mapper.to_stored_event(an_event())
    with subprocess.Popen(
        [sys.executable, "-c", _PLANS.format(statement=statement.format())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as planner:
        assert planner.stdin is not None and planner.stdout is not None
        planner.stdin.write(store.url + "\n")
        planner.stdin.flush()
        assert planner.stdout.readline() == "within\n"
        planner.send_signal(signal.SIGSTOP)
        try:
            began = time.monotonic()
            assert recorder.insert_events([entry])
            assert 1.0 < time.monotonic() - began < CUT_OFF_S + BUSY_S
        finally:
            planner.kill()
