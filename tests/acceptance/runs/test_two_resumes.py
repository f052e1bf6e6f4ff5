"""Two `resume` of one run at once: one drives it, the other says who does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from failproof_es.store.store import Store
from tests.acceptance.commands import begin, kill_group, mock_server, run
from tests.acceptance.workers.processes import count, plan, wait_until


@pytest.mark.parametrize("way", [(), ("--json",), ("--workers", "2"), ("--workers", "2", "--json")])
@pytest.mark.thinned(whole=1)
def test_the_one_that_comes_second_names_the_other_and_counts_nothing(
    store: Store, tmp_path: Path, way: tuple[str, ...]
) -> None:
    with mock_server(100) as url:
        plan(store, tmp_path, url)
        first = begin(store.url, "resume", "1", "--quiet", cwd=tmp_path)
        wait_until(store, "Scored", 8)
        before = count(store, "RunPaused"), count(store, "RunResumed")
        second = run(store.url, "resume", "1", *way, cwd=tmp_path)
        assert (count(store, "RunPaused"), count(store, "RunResumed")) == before
        kill_group(first)
    assert second.returncode == 1
    assert re.search(r"error: run \S+ is being driven by ", second.stderr), second.stderr
    assert second.stdout == ""
    assert len(second.stderr.splitlines()) == 1
