"""The console in a real browser, where there is one: it loads, is accessible, and fits."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from playwright.sync_api import Browser

from failproof_es.console.rendering import static_file
from failproof_es.store.embedded.server import EmbeddedServer
from tests.acceptance.commands import begin, mock_server, write_configuration, write_suite
from tests.browser import launched
from tests.conftest import create_database, database_url_as, drop_database
from tests.console import console, record_runs, settings_for
from tests.console_walk import Walker, quick_first

pytestmark = pytest.mark.slow  # a browser looks

QUICK = ("/runs/99", "/runs/1/results?status=failed&model=mock", "/events/60?topic=Scored")
"""Each page takes a browser one to two seconds, so the others are slow."""
FIRST_RESULT = "/evaluations/FIRST"
"""Stands for the first result of run 1."""
PAGES = (
    "/runs?status=failed", "/runs/4", "/runs/99", "/runs/1/results?status=failed&model=mock",
    "/runs/1/results?status=unfinished", FIRST_RESULT, "/events/60", "/events/60?topic=Scored",
    "/events/99999", "/streams/none", "/search?q=4", "/search?q=else", "/search?q=nothing-at-all",
    "/compare", "/compare?run=1&run=2", "/cases?text=none", "/review", "/runs/2/trend",
)  # fmt: skip
"""What `test_walks.py` does not walk over more kinds of runs."""


@pytest.fixture(scope="module")
def log_url(
    postgres_server: EmbeddedServer,
    migrated_database: str,
    mock_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    """A database with the runs of `record_runs`."""
    name = f"console_{uuid4().hex}"
    create_database(postgres_server, name, migrated_database)
    url = database_url_as(postgres_server, name)
    record_runs(url, mock_url, tmp_path_factory.mktemp("console"))
    yield url
    drop_database(postgres_server, name)


@pytest.fixture(scope="module")
def served(log_url: str) -> Iterator[str]:
    """A console over it."""
    with console(**settings_for(log_url)) as base:
        yield base


@pytest.fixture(scope="module")
def opened(served: str) -> Iterator[Browser]:
    """After the runs: Playwright keeps an event loop in this thread, beside which none can run."""
    with launched() as browser:
        yield browser


@pytest.fixture(scope="module")
def walker(opened: Browser, served: str) -> Iterator[Walker]:
    made = Walker(opened, served)
    yield made
    made.close()


@cache
def first_result(served: str) -> str:
    rows = httpx.get(served + "/runs/1/results.json", timeout=60).json()["rows"]
    return f"/evaluations/{rows[0]['evaluation_id']}"


@pytest.mark.parametrize("path", quick_first(PAGES, QUICK))
@pytest.mark.thinned(whole=8)
def test_a_page_is_as_every_page_has_to_be(walker: Walker, served: str, path: str) -> None:
    assert walker.objections(first_result(served) if path == FIRST_RESULT else path) == []


def test_keys_alone_lead_from_the_list_to_a_run(opened: Browser, served: str) -> None:
    context = opened.new_context()
    page = context.new_page()
    page.goto(served + "/runs")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.textContent") == "3"
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs/4")
    assert page.locator("h1").inner_text().startswith("smoke")
    context.close()


def test_j_and_k_walk_the_results_of_a_filter(opened: Browser, served: str) -> None:
    query = "status=failed&model=mock"
    rows = httpx.get(served + f"/runs/1/results.json?{query}", timeout=60).json()["rows"]
    context = opened.new_context()
    page = context.new_page()
    page.goto(served + f"/runs/1/results?{query}")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/evaluations/{rows[0]['evaluation_id']}?*")
    page.keyboard.press("j")
    page.wait_for_url(f"**/evaluations/{rows[1]['evaluation_id']}?*")
    page.keyboard.press("k")
    page.wait_for_url(f"**/evaluations/{rows[0]['evaluation_id']}?*")
    context.close()


def test_keys_walk_the_matrix_and_the_palette_finds_links(opened: Browser, served: str) -> None:
    rows = httpx.get(served + "/runs/1/matrix.json?status=failed", timeout=60).json()["rows"]
    context = opened.new_context()
    page = context.new_page()
    page.goto(served + "/runs/1/matrix")
    page.keyboard.press("/")
    page.keyboard.type("failures only")
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs/1/matrix?*status=failed*")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**show={rows[0]['first']}*")
    page.keyboard.press("j")
    page.wait_for_url(f"**show={rows[1]['first']}*")
    page.keyboard.press("Escape")
    page.wait_for_url(lambda url: "show=" not in url)
    context.close()


def test_numbers_grow_while_one_looks_until_the_run_has_ended(
    opened: Browser, served: str, log_url: str, tmp_path: Path
) -> None:
    write_suite(tmp_path, 60)
    with mock_server(latency_ms=100) as slow_url:
        write_configuration(tmp_path, slow_url, execution={"parallel_workers": 2})
        going = begin(log_url, "start", "run.yaml", "--quiet", cwd=tmp_path)
        context = opened.new_context()
        page = context.new_page()
        streams: list[str] = []
        page.on(
            "request", lambda asked: streams.append(asked.url) if "/live" in asked.url else None
        )
        try:
            while page.goto(f"{served}/runs/5").status != 200:  # type: ignore[union-attr]
                assert going.poll() is None
            page.wait_for_selector("main[data-live]")
            shown = "[data-text='all-done']"
            before = page.locator(shown).first.inner_text()
            page.wait_for_function(
                "([shown, before]) => document.querySelector(shown).textContent !== before",
                arg=[shown, before],
            )
            assert streams and "after=" in streams[0]
            # the last event has the page loaded again: it has ended, and nothing is live any more
            page.wait_for_selector("main:not([data-live])", timeout=60_000)
            assert page.locator(shown).first.inner_text() == "60/60"
        finally:
            context.close()
            assert going.wait(60) == 0
            assert going.stderr is not None
            going.stderr.close()


def test_the_cards_of_a_narrow_screen_name_the_variant_of_each_model(opened: Browser) -> None:
    heads = "".join(
        f"<th style='min-width: 300px'><bdi class=model>large</bdi> {variant} <p>3/4 in the run"
        for variant in ("<bdi class='note variant'>polite</bdi>", "")
    )
    page = opened.new_page(viewport={"width": 390, "height": 700})
    page.set_content(
        "<div class=scroll style='overflow: auto'><table><thead><tr><th>Case</th>"
        f"{heads}</thead><tbody><tr><th>c<td>passed<td>failed</table></div>"
    )
    page.add_script_tag(content=static_file("cards.js").decode())
    labels = page.locator("tbody td").evaluate_all("cells => cells.map(c => c.dataset.label)")
    page.close()
    assert labels == ["large polite", "large"]
