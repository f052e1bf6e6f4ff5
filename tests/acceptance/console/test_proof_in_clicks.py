"""From the list of runs to the proof that an answer was not changed, by links only."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest

from failproof_es.console.pages import all_pages
from tests.console import console, settings_for
from tests.integration.console.conftest import console_log as console_log

MOST_CLICKS = 4
_WAY = (r"/runs/\d+", r"/runs/\d+/results", r"/evaluations/[0-9a-f-]{36}", r"/events/\d+")
"""What is clicked, in order: a run, its results, an evaluation, an event of it."""
_LINK = re.compile(r'href="(/[^"#]*)"')


@pytest.fixture
def served(console_log: str) -> Iterator[str]:
    with console(**settings_for(console_log)) as url:
        yield url


@pytest.mark.slow
def test_the_proof_of_an_answer_is_four_clicks_from_the_runs(served: str) -> None:
    if not {"results", "evaluation"} <= {page.name for page in all_pages()}:
        pytest.skip("the pages on the way are not there")
    reached = {"/runs"}
    for clicks, step in enumerate(_WAY, 1):
        assert clicks <= MOST_CLICKS
        found: set[str] = set()
        for path in sorted(reached)[:3]:
            links = _LINK.findall(httpx.get(served + path, timeout=60).text.replace("&amp;", "&"))
            found |= {link for link in links if re.fullmatch(step, link.partition("?")[0])}
        assert found, f"no link {step} on {sorted(reached)[:3]}"
        reached = found
    proven = []
    for path in reached:
        page = httpx.get(f"{served}{path.partition('?')[0]}.json", timeout=60).json()
        if page["event"]["topic"] == "ResponseReceived":
            proven.append(page["proof"]["holds"])
    assert proven and any(proven)
