"""A process that forks while a batch is under way."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.unit.shell_analysis.test_batching import Recorder, batcher


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_waits_for_no_thread_of_its_parent() -> None:
    run = Recorder()
    asking = batcher(run)
    run.gate.clear()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asking.ask, ["parent"])
        while not run.batches:
            time.sleep(0.001)
        child = os.fork()
        if not child:
            run.gate.set()
            os._exit(0 if asking.ask(["child"]) == ["CHILD"] and len(run.batches) == 2 else 1)
        run.gate.set()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
