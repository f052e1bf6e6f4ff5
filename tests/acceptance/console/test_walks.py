"""Each page in a browser: it is accessible and fits, keys and links lead on, numbers grow."""

from __future__ import annotations

import os
import re
import time
from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import httpx
import psycopg
import pytest
from playwright.sync_api import Browser, Page

from failproof_es.console.rendering import static_file
from failproof_es.store.embedded.server import EmbeddedServer
from tests.acceptance.commands import begin, mock_server, write_configuration, write_suite
from tests.browser import beacon, launched
from tests.conftest import create_database, database_url_as, drop_database
from tests.console import console, settings_for
from tests.console_walk import Walker
from tests.console_world import (
    ARCHIVED,
    FAILED,
    LAST_WEEK,
    LEFT_TO_PEOPLE,
    RED_TEAM,
    THIS_WEEK,
    World,
    recorded_world,
)
from tests.pictures import FOLDER, PICTURED, WIDTH, WRITE
from tests.selection import wide_except

NARROW = (
    "/runs", f"/runs/{ARCHIVED}", f"/runs/{RED_TEAM}/results", f"/runs/{FAILED}/cost", "BESIDE",
    "JUDGED", "PROVEN", "CASE", "/review?state=all", "/runs/99", f"/runs/{FAILED}/charts",
    "/cases?text=refunds", "/search?q=refunds",
)  # fmt: skip
"""Pages that differ most. Each takes a browser one to two seconds, so the others are wide."""
PAGES = (
    *NARROW,
    f"/runs/{THIS_WEEK}", f"/runs/{FAILED}", f"/runs/{RED_TEAM}", f"/runs/{FAILED}/results",
    f"/runs/{THIS_WEEK}/results?status=failed&model=assistant-large",
    f"/runs/{THIS_WEEK}/results?status=unfinished",
    f"/runs/{RED_TEAM}/charts", f"/runs/{RED_TEAM}/cost",
    f"/runs/{LEFT_TO_PEOPLE}/agreement?one=jane&other=omar&on=items", f"/runs/{FAILED}/matrix",
    f"/runs/{RED_TEAM}/matrix", f"/compare?base={LAST_WEEK}&other={THIS_WEEK}&show=all",
    f"/runs/{THIS_WEEK}/trend", "/runs?status=failed", "LOST", "DISPUTED", "OUT OF THE LOG",
    "STREAM", f"/compare?base=3&other={RED_TEAM}", "/compare?run=1&run=2", "/events/99999",
    "/streams/none", "/suites", "/cases?text=none", "/review", "/ledger",
    "/search?q=4", "/search?q=nothing-at-all",
)  # fmt: skip
"""Words stand for pages whose ids are known when they are there: see `located`."""
EMPTY = (
    "/runs", "/runs/1", "/compare", "/compare?other=latest", "/suites", "/cases", "/review",
    "/ledger", "/search", "/search?q=anything", "/events/1",
)  # fmt: skip


@pytest.fixture(scope="module")
def world(
    postgres_server: EmbeddedServer,
    migrated_database: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("world")
    with recorded_world(postgres_server, migrated_database, folder) as found:
        yield found


@pytest.fixture(scope="module")
def empty(postgres_server: EmbeddedServer, migrated_database: str) -> Iterator[str]:
    """The URL of a console over a log without events."""
    name = f"empty_{uuid4().hex}"
    create_database(postgres_server, name, migrated_database)
    with console(**settings_for(database_url_as(postgres_server, name))) as base:
        yield base
    drop_database(postgres_server, name)


@pytest.fixture(scope="module")
def opened(world: World, empty: str) -> Iterator[Browser]:
    """After the runs: Playwright keeps an event loop in this thread, beside which none can run."""
    with launched() as browser:
        yield browser


@pytest.fixture(scope="module")
def walker(opened: Browser, world: World) -> Iterator[Walker]:
    made = Walker(opened, world.url)
    yield made
    made.close()


@pytest.fixture(scope="module")
def walker_of_nothing(opened: Browser, empty: str) -> Iterator[Walker]:
    made = Walker(opened, empty)
    yield made
    made.close()


@pytest.fixture(autouse=True)
def with_the_logs_key(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The console of these tests is one of this process: it looks for the key in this home."""
    monkeypatch.setenv("FAILPROOF_ES_HOME", str(world.home))


@pytest.fixture
def page(opened: Browser) -> Iterator[Page]:
    context = opened.new_context(viewport={"width": 1280, "height": 900})
    yield context.new_page()
    context.close()


def located(world: World, name: str) -> str:
    """The path of a page, or what a word stands for."""
    match name:
        case "LOST":
            return world.evaluation(FAILED, "status=abandoned")
        case "JUDGED":
            return world.evaluation(RED_TEAM)
        case "BESIDE":
            of = located(world, "REFUSED").rpartition("/")[2].partition("?")[0]
            return f"/runs/{THIS_WEEK}/matrix?status=failed&show={of}"
        case "DISPUTED":
            row = world.json("/review?state=disputed")["rows"][0]
            return f"/evaluations/{row['evaluation_id']}"
        case "PROVEN":
            return f"/events/{_event(world, located(world, 'REFUSED'), 'ResponseReceived')}"
        case "REFUSED":
            return world.evaluation(THIS_WEEK, "status=failed&model=assistant-large")
        case "OUT OF THE LOG":
            return f"/events/{_archived(world, 'ResponseReceived')}"
        case "STREAM":
            return located(world, "REFUSED").partition("?")[0].replace("evaluations", "streams")
        case "CASE":
            return f"/cases/{world.json('/cases?text=refunds')['rows'][0]['prompt_id']}"
    return name


def _event(world: World, evaluation: str, topic: str) -> int:
    steps = world.json(evaluation)["steps"]
    return next(int(each["position"]) for each in steps if each["topic"] == topic)


def _archived(world: World, topic: str) -> int:
    with psycopg.connect(world.database_url) as connection:
        row = connection.execute(
            "SELECT min(notification_id) FROM failproof.archived_events WHERE topic = %s", (topic,)
        ).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.parametrize("path", wide_except(NARROW, PAGES))
@pytest.mark.slow
def test_every_page_of_every_kind_of_run(world: World, walker: Walker, path: str) -> None:
    assert walker.objections(located(world, path)) == []


BAD_PAGE = b"""<!doctype html><title>no</title><h1>a</h1><h1>b</h1>
<style>p { color: #ddd } a { outline: 0 !important }
@media print { div { min-width: 9000px } }</style><p>pale</p><a href=/ id=one>one</a>
<button style="height: 9px">low</button>
<div style="width: 400px">wide</div>
<div class=scroll style="overflow: auto"><p style="width: 999px">cut</div><time>today</time>
<script src="/s.js"></script>
<img src="http://localhost:9/x"><script>throw new Error("oops")</script>"""


@pytest.mark.slow
def test_a_bad_page_is_seen_to_be_bad(opened: Browser) -> None:
    with beacon(BAD_PAGE) as served:
        walker = Walker(opened, f"http://127.0.0.1:{served.port}")
        said = "\n".join(walker.objections("/"))
        walker.close()
    for each in (
        "2 headings", "its title is 'no'", "html-has-lang", "image-alt", "color-contrast",
        "in the dark: color-contrast", "the focus is on", "/ does not lead to the palette",
        "too low for a finger: <button", "one does not see all on screen of cut",
        "wider than 320 on screen", "wider than 700 on print", "asked http://localhost:9/x",
        "threw", "without JavaScript a date has no zone", "without JavaScript wider than 320",
    ):  # fmt: skip
        assert each in said, (each, said)


@pytest.mark.parametrize("path", wide_except(("/runs", "/compare"), EMPTY))
def test_every_page_of_an_empty_database(walker_of_nothing: Walker, path: str) -> None:
    assert walker_of_nothing.objections(path) == []


def test_why_did_the_model_fail_more_than_last_week_is_answered_by_links(
    world: World, page: Page
) -> None:
    clicks: list[str] = []

    def click(selector: str) -> None:
        clicks.append(selector)
        page.locator(selector).first.click()

    page.goto(world.url + "/runs")
    click(f"a.row-link:text-is('{THIS_WEEK}')")
    assert "55.0 %" in page.inner_text("main")
    click("text=Compare with the attempt before")
    assert f"against run {LAST_WEEK}" in page.inner_text("h1")
    said = page.inner_text("main")
    assert "−35.0" in said and "worse" in said  # more than last week
    where = page.locator("table:has(caption:text('Where they differ')) tbody tr")
    assert where.first.inner_text().split() == ["refunds", "7", "7", "0"]
    became = page.locator("table:has(caption:text('What the answers became')) tbody tr")
    assert became.first.inner_text().split() == ["match", "refusal", "7"]
    click(".two-by-two a:text-is('7')")
    click("article.pair a:has-text('failed')")
    assert "I'm sorry, I can't help with refunds" in page.inner_text(".turn.answer")
    assert "refuses: " in page.inner_text("main")
    assert len(clicks) <= 6


def test_that_an_answer_was_not_changed_is_proven_by_links(world: World, page: Page) -> None:
    page.goto(world.url + "/runs")
    clicks = 0
    for selector in (
        f"a.row-link:text-is('{THIS_WEEK}')",
        "section[aria-labelledby=models] td a:text-is('7')",
        "a.row-link >> nth=0",
        ".timeline li:has-text('ResponseReceived') a",
    ):
        page.locator(selector).first.click()
        clicks += 1
    assert clicks <= 4
    assert page.inner_text("h1").startswith("ResponseReceived")
    assert page.inner_text(".head .badge.good") == "proven unchanged"
    assert "signed by the log's key" in page.inner_text("section[aria-labelledby=proof]")
    assert "I'm sorry" in page.inner_text("section[aria-labelledby=payload]")
    page.click("section[aria-labelledby=proof] a:text-is('the ledger')")
    assert page.inner_text(".head .badge") == "signed"


def test_an_answer_in_an_archive_is_proven_too_and_says_where_it_is(
    world: World, page: Page
) -> None:
    page.goto(world.url + located(world, "OUT OF THE LOG"))
    badges = page.locator(".head .badge").all_inner_texts()
    assert badges == ["proven unchanged", "archived"]
    said = page.inner_text("section[aria-labelledby=payload]")
    assert re.search(rf"old/run-{ARCHIVED}-[0-9a-f-]{{36}}\.evidence", said)
    assert "failproof-es attach" in said


@pytest.mark.slow
def test_keys_alone_lead_to_a_run_its_results_and_its_matrix(world: World, page: Page) -> None:
    page.goto(world.url + "/runs")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.textContent") == str(LEFT_TO_PEOPLE)
    page.keyboard.press("k")
    assert page.evaluate("document.activeElement.textContent") == str(ARCHIVED)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/runs/{LEFT_TO_PEOPLE}")
    assert page.inner_text("h1").startswith("by-hand")

    results = f"/runs/{THIS_WEEK}/results?status=failed&model=assistant-large"
    first, second, *_ = (row["evaluation_id"] for row in world.json(results)["rows"])
    page.goto(world.url + results)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/evaluations/{first}?*")
    page.keyboard.press("j")
    page.wait_for_url(f"**/evaluations/{second}?*")
    page.keyboard.press("k")
    page.wait_for_url(f"**/evaluations/{first}?*")

    matrix = f"/runs/{THIS_WEEK}/matrix"
    first, second, *_ = (row["first"] for row in world.json(f"{matrix}?status=failed")["rows"])
    page.goto(world.url + matrix)
    page.keyboard.press("/")
    page.keyboard.type("failures only")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{matrix}?*status=failed*")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**show={first}*")
    page.keyboard.press("j")
    page.wait_for_url(f"**show={second}*")
    page.keyboard.press("Escape")
    page.wait_for_url(lambda url: "show=" not in url)


@pytest.mark.slow
def test_numbers_grow_while_one_looks_until_the_run_has_ended(
    world: World, page: Page, tmp_path: Path
) -> None:
    write_suite(tmp_path, 60)
    path = f"{world.url}/runs/{ARCHIVED + 1}"
    streams: list[str] = []
    page.on("request", lambda asked: streams.append(asked.url) if "/live" in asked.url else None)
    with mock_server(latency_ms=1_000) as slow_url:
        write_configuration(tmp_path, slow_url, execution={"parallel_workers": 2})
        going = begin(world.database_url, "start", "run.yaml", "--quiet", cwd=tmp_path)
        try:
            while httpx.get(path, timeout=60).status_code != 200:
                assert going.poll() is None
                time.sleep(0.1)
            page.goto(path)
            page.wait_for_selector("main[data-live]")
            shown = "[data-text='all-done']"
            before = page.locator(shown).first.inner_text()
            page.wait_for_function(
                "([shown, before]) => document.querySelector(shown).textContent !== before",
                arg=[shown, before],
            )
            assert streams and "after=" in streams[0]
            httpx.post(slow_url.removesuffix("/v1") + "/hurry")
            # the last event has the page loaded again: it has ended, and nothing is live any more
            page.wait_for_selector("main:not([data-live])", timeout=60_000)
            assert page.locator(shown).first.inner_text() == "60/60"
        finally:
            assert going.wait(60) == 0
            assert going.stderr is not None
            going.stderr.close()


@pytest.mark.slow
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


@pytest.mark.skipif(WRITE not in os.environ, reason=f"pictures are written where {WRITE} is set")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pictures_are_written(world: World, opened: Browser, scheme: str) -> None:
    FOLDER.mkdir(exist_ok=True)
    context = opened.new_context(
        viewport={"width": WIDTH, "height": 800}, color_scheme=scheme,  # type: ignore[arg-type]
        timezone_id="UTC", locale="en-GB", bypass_csp=True,
    )  # fmt: skip
    page = context.new_page()
    for name, (path, most) in PICTURED.items():
        page.set_viewport_size({"width": WIDTH, "height": 700})
        page.goto(world.url + located(world, path))
        page.evaluate(_SAME_FOLDER)
        height = min(max(page.evaluate("document.body.scrollHeight"), 400), most)
        page.set_viewport_size({"width": WIDTH, "height": height})
        (FOLDER / f"{name}.{scheme}.webp").write_bytes(_webp(page, page.screenshot()))
    context.close()


_SAME_FOLDER = r"""() => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode())
    texts.currentNode.data = texts.currentNode.data.replace(/\/\S+\/old\//g, "/archive/2026/");
}"""
"""A picture shows no folder of the machine that took it."""


def _webp(page: Page, png: bytes) -> bytes:
    """The picture as the browser itself writes WebP: about a fifth of the PNG."""
    page.goto("about:blank")
    told = page.evaluate(
        """async (source) => {
          const picture = new Image();
          picture.src = source;
          await picture.decode();
          const canvas = document.createElement("canvas");
          [canvas.width, canvas.height] = [picture.width, picture.height];
          canvas.getContext("2d").drawImage(picture, 0, 0);
          return canvas.toDataURL("image/webp", 0.8);
        }""",
        "data:image/png;base64," + b64encode(png).decode(),
    )
    head, _, data = str(told).partition(",")
    assert head == "data:image/webp;base64"
    return b64decode(data)
