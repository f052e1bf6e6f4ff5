"""Hostile answers on pages and downloads: nothing is run, requested, hidden or reordered."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import httpx
import orjson
import pytest
from playwright.sync_api import Browser

from failproof_es.console.texts import MOST_CHARACTERS
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.support.untrusted_text import lines, one_line
from tests.acceptance.commands import invoke, write_configuration
from tests.browser import Beacon, beacon, launched, listen
from tests.conftest import create_database, database_url_as, drop_database
from tests.console import answering, console, settings_for
from tests.hostile_answers import hostile_answers

pytestmark = pytest.mark.slow  # a browser looks

FOREIGN = (
    "() => [...document.querySelectorAll('img, iframe, object, embed, style, base, math, video, "
    "template, noscript, portal, marquee, foreignObject, [style], [onload], [onerror]')].length "
    "+ document.querySelectorAll('script:not([src^=\"/static/\"])').length "
    "+ document.querySelectorAll('meta[http-equiv]').length "
    "+ (window.ran ? 1000 : 0)"
)
"""How much stands in a page that the console never writes."""
HEAPED = """() => [...document.querySelectorAll("main bdi")].filter((each) => {
  for (let box = each.parentElement; box.tagName !== "MAIN"; box = box.parentElement)
    if (getComputedStyle(box).overflowY !== "visible") return false;
  return each.checkVisibility();
}).map((each) => each.parentElement.outerHTML.slice(0, 200))"""
"""Texts of others whose heaped marks would cover what stands around the box that they are in."""
FORMULAS = ("=", "+", "@", "-", "\uff1d", "\uff0b", "\uff0d", "\uff20")
ANSWER = "() => [...document.querySelectorAll('.turn.answer pre')].pop()?.textContent"


class Hostile(NamedTuple):
    """A console over a run whose model answered each of the texts."""

    url: str
    texts: list[str]
    heard: Beacon
    rows: list[dict[str, Any]]


@pytest.fixture(scope="module")
def attacked(
    postgres_server: EmbeddedServer,
    migrated_database: str,
    mock_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Hostile]:
    name = f"console_{uuid4().hex}"
    create_database(postgres_server, name, migrated_database)
    url = database_url_as(postgres_server, name)
    folder: Path = tmp_path_factory.mktemp("hostile")
    with beacon() as heard:
        texts = hostile_answers(heard.port)
        with (folder / "suite.jsonl").open("wb") as suite:
            for n, text in enumerate(texts):
                word = "".join(text[:100].split("\0"))
                case = {
                    "case_id": f"case-{n:03}",
                    "suite_id": "hostile",
                    "category": word.strip() or "none",
                    "prompt": f"{text[:5_000]} {answering(text)}".replace("{{", "{ {"),
                    "expected_response": "nothing",
                }
                suite.write(orjson.dumps(case) + b"\n")
        write_configuration(folder, mock_url)
        said = invoke(url, "start", "run.yaml", "--quiet", cwd=folder)
        assert said.exit_code in (0, 1), said.output[:2000]
        with console(**settings_for(url)) as base:
            found = httpx.get(base + "/runs/1/results.json?limit=200", timeout=120)
            assert found.status_code == 200, found.text
            rows = found.json()["rows"]
            yield Hostile(base, texts, heard, rows)
    drop_database(postgres_server, name)


@pytest.fixture(scope="module")
def opened(attacked: Hostile) -> Iterator[Browser]:
    with launched() as browser:
        yield browser


def number(row: dict[str, Any]) -> int:
    return int(row["case_id"].removeprefix("case-"))


def test_every_text_was_answered(attacked: Hostile) -> None:
    assert len(attacked.texts) >= 60
    assert len(attacked.rows) == len(attacked.texts)
    for row in attacked.rows:
        assert row["error_kind"] is None, (row, attacked.texts[number(row)][:100])
        assert row["answer"] == attacked.texts[number(row)][: len(row["answer"])]
        assert row["answer_cut"] == (len(row["answer"]) < len(attacked.texts[number(row)]))


def test_a_browser_runs_requests_and_reorders_nothing(attacked: Hostile, opened: Browser) -> None:
    context = opened.new_context()
    page = context.new_page()
    heard = listen(page)
    paths = ["/runs", "/runs/1", "/runs/1/results?limit=200"]
    for path in paths:
        page.goto(attacked.url + path)
        assert page.evaluate(FOREIGN) == 0, path
        assert page.evaluate(HEAPED) == [], path
    for row in attacked.rows:
        text = attacked.texts[number(row)]
        page.goto(f"{attacked.url}/evaluations/{row['evaluation_id']}")
        assert page.evaluate(FOREIGN) == 0, text[:200]
        assert page.evaluate(HEAPED) == [], text[:200]
        shown = page.evaluate(ANSWER)
        assert shown == lines(text[: len(shown)] if len(text) > MOST_CHARACTERS else text)
        assert page.title() == f"{row['case_id']} · failproof-es"
        assert page.evaluate("document.body.innerText") == lines(
            page.evaluate("document.body.innerText")
        )
        assert len(page.content()) < 600_000
    assert attacked.heard.paths == []
    assert heard.dialogs == []
    assert all(each.startswith(attacked.url) for each in heard.asked)
    context.close()


def test_the_list_shows_each_answer_with_what_hides_in_it(
    attacked: Hostile, opened: Browser
) -> None:
    context = opened.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{attacked.url}/runs/1/results?limit=200")
    cells = page.locator("td.answer > bdi").all_text_contents()
    assert len(cells) == len(attacked.texts)
    for row, cell in zip(attacked.rows, cells, strict=True):
        begin = attacked.texts[number(row)][:159]
        assert cell.startswith(one_line(begin)[:100])
    context.close()


def test_downloads_are_attachments_and_hold_no_formula(attacked: Hostile) -> None:
    with httpx.Client(base_url=attacked.url, timeout=120) as client:
        found = client.get("/runs/1/results.csv")
        assert found.headers["content-disposition"].startswith("attachment;")
        for cells in csv.reader(io.StringIO(found.text)):
            for cell in cells:
                assert not cell.lstrip().startswith(FORMULAS), cell
        told = [
            json.loads(line) for line in client.get("/runs/1/results.jsonl").content.splitlines()
        ]
        assert [each["answer"] for each in told] == [row["answer"] for row in attacked.rows]
        for row in attacked.rows:
            text = attacked.texts[number(row)]
            url = f"/evaluations/{row['evaluation_id']}"
            page = client.get(url + ".json").json()
            whole = client.get(f"{url}/texts/turn-{len(page['turns'])}")
            assert whole.content == text.encode()
            assert whole.headers["content-disposition"].startswith("attachment;")
            assert whole.headers["content-type"] == "application/octet-stream"
            assert whole.headers["x-content-type-options"] == "nosniff"
            answer = page["turns"][-1]["text"]
            assert answer["characters"] == len(text)
            if len(text) > MOST_CHARACTERS:
                assert answer["more_characters"] > 0 and answer["whole"] == whole.url.path
    assert attacked.heard.paths == []


def test_a_very_long_text_is_downloaded_whole_by_its_link(
    attacked: Hostile, opened: Browser
) -> None:
    context = opened.new_context(accept_downloads=True)
    page = context.new_page()
    [row] = [row for row in attacked.rows if number(row) == len(attacked.texts) - 1]
    page.goto(f"{attacked.url}/evaluations/{row['evaluation_id']}")
    assert "more characters in 99,80" in page.inner_text(".turn.answer .note")
    with page.expect_download() as waiting:
        page.click(".turn.answer .note a")
    assert Path(waiting.value.path()).read_bytes() == attacked.texts[-1].encode()
    context.close()
