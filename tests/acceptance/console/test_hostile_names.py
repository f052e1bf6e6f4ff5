"""Hostile text wherever a page shows any: names, errors, reviews, filters, addresses, downloads."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import orjson
import pytest
from playwright.sync_api import Browser

from failproof_es.store.embedded.server import EmbeddedServer
from tests.acceptance.commands import invoke, write_configuration
from tests.acceptance.console.test_hostile import FOREIGN, FORMULAS, HEAPED, Hostile
from tests.browser import beacon, launched, listen
from tests.conftest import create_database, database_url_as, drop_database
from tests.console import answering, console, refusing, settings_for
from tests.console_html import objections
from tests.hostile_answers import hostile_answers

pytestmark = pytest.mark.slow  # a browser looks

NAMED, AGAIN, BY_HAND = 1, 2, 3
"""The runs: two attempts at cases that are named hostilely, one that people review."""
MODEL = '"><img src=http://127.0.0.1:{port}/model onerror=window.ran=1>\u202e=1+1'
FILE = "<img src=x onerror=window.ran=1>\u202e\u05d0.jsonl"
REVIEWERS = (
    "=1+1", "<script>window.ran=1</script>", "\u05d0\u05d1 (jane) \u05d2", "{{7*7}}",
    "\"onmouseover='window.ran=1'", "@SUM(1+1)",
)  # fmt: skip
REVIEWED = 4
LISTS = (
    "/runs", f"/runs/{NAMED}/results", f"/compare?base={NAMED}&other={AGAIN}&show=all", "/suites",
    "/cases", "/review?state=all",
)  # fmt: skip
PAGES = (
    *LISTS, f"/runs/{NAMED}/matrix?limit=200", f"/runs/{NAMED}", f"/runs/{BY_HAND}",
    f"/runs/{NAMED}/cost", f"/runs/{NAMED}/charts", f"/runs/{BY_HAND}/charts",
    f"/runs/{BY_HAND}/results", "/ledger", "/search?q=window.ran",
)  # fmt: skip


def named(number: int, text: str) -> dict[str, Any]:
    """A case of which everything that others choose says the text; every fourth is refused."""
    says = refusing(text) if number % 4 == 3 else answering(text, f"nothing\n{text}")
    return {
        "case_id": f"{text[:200]} {number}",
        "suite_id": text[:100] if text.strip() else "none",
        "tags": [text[:100]] if text.strip() else [],
        "prompt": f"{number} {text[:300]} {says}".replace("{{", "{ {"),
        "expected_response": "nothing",
    }


def reviewed(number: int, text: str) -> dict[str, Any]:
    return {
        "id": f"{text[:80]} {number}",
        "title": text,
        "category": text,
        "tags": [text],
        "severity_expectation": "S1",
        "turns": [{"role": "user", "content": text}],
        "expected_behavior": {"must_do": [text], "must_not_do": [], "pass_criteria": []},
    }


@pytest.fixture(scope="module")
def attacked(
    postgres_server: EmbeddedServer,
    migrated_database: str,
    mock_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Hostile]:
    """With the results of the first run and of the third."""
    name = f"console_{uuid4().hex}"
    create_database(postgres_server, name, migrated_database)
    url = database_url_as(postgres_server, name)
    folder: Path = tmp_path_factory.mktemp("hostile-names")
    with beacon() as heard:
        texts = ["".join(each[:400].split("\0")) for each in hostile_answers(heard.port)[:-2]]
        model = {
            "provider": "openai",
            "base_url": mock_url,
            "model": MODEL.replace("{port}", str(heard.port)),
        }
        for file, cases in (
            (FILE, [named(n, text) for n, text in enumerate(texts)]),
            ("people.jsonl", [reviewed(n, text) for n, text in enumerate(texts) if text.strip()]),
        ):
            (folder / file).write_bytes(b"\n".join(map(orjson.dumps, cases)))
        for file, dialect in (
            (FILE, "failproof"),
            (FILE, "failproof"),
            ("people.jsonl", "redteam"),
        ):
            prompts = {"path": file, "dialect": dialect}
            write_configuration(folder, mock_url, models=[model], prompts=prompts)
            said = invoke(url, "start", "run.yaml", "--quiet", "--allow-unlisted", cwd=folder)
            assert said.exit_code in (0, 3), said.output[-6000:]
        for n, reviewer in enumerate(REVIEWERS):
            verdict = ("pass", "fail")[n % 2]
            answers = (
                f"happened\n{verdict}\nS1\n{texts[1][:60]}\n{texts[n][:60]}\n" * REVIEWED + "quit\n"
            )
            invoke(url, "review", BY_HAND, "--reviewer", reviewer, cwd=folder, answers=answers)
        with console(**settings_for(url)) as base:
            rows = []
            for run in (NAMED, BY_HAND):
                found = httpx.get(f"{base}/runs/{run}/results.json?limit=200", timeout=120)
                assert found.status_code == 200, found.text
                rows += [{**each, "run_number": run} for each in found.json()["rows"]]
            yield Hostile(base, texts, heard, rows)
    drop_database(postgres_server, name)


@pytest.fixture(scope="module")
def opened(attacked: Hostile) -> Iterator[Browser]:
    with launched() as browser:
        yield browser


@pytest.fixture(scope="module")
def client(attacked: Hostile) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=attacked.url, timeout=120) as made:
        yield made


def with_limit(path: str) -> str:
    """The same page with all of its rows, as far as it can be told to show them."""
    most = 50 if path.startswith("/compare") else 200
    return f"{path}{'&' if '?' in path else '?'}limit={most}" if path in LISTS else path


def test_every_text_is_on_record_in_every_place(attacked: Hostile) -> None:
    assert len(attacked.texts) >= 60
    cases = {row["case_id"] for row in attacked.rows}
    for n, text in enumerate(attacked.texts):
        assert f"{text[:200]} {n}" in cases
    people = [row for row in attacked.rows if row["state"] in ("awaiting", "unscored")]
    assert len(people) >= 60
    review = httpx.get(attacked.url + "/review.json?state=all&limit=200", timeout=60).json()
    assert sum(each["reviewers"] for each in review["rows"]) == len(REVIEWERS) * REVIEWED


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.thinned(whole=8)
def test_a_page_is_made_of_its_own_elements(client: httpx.Client, path: str) -> None:
    page = client.get(with_limit(path))
    assert page.status_code == 200
    assert objections(page.text) == []


@pytest.mark.parametrize("kind", ["evaluations", "streams", "events", "cases", "search"])
@pytest.mark.thinned(whole=2)
def test_so_are_the_pages_of_each_text(attacked: Hostile, client: httpx.Client, kind: str) -> None:
    by_hand = [row for row in attacked.rows if row["run_number"] == BY_HAND]
    rows = [row for row in attacked.rows if row["run_number"] == NAMED] + by_hand[::12]
    paths = [f"/{kind}/{row['evaluation_id']}" for row in rows]
    if kind == "events":
        paths = [f"/events/{row['last_position'] - n % 3}" for n, row in enumerate(rows)]
    elif kind == "cases":
        cases = client.get("/cases.json?limit=200").json()["rows"]
        paths = [f"/cases/{each['prompt_id']}" for each in cases[::2]]
    elif kind == "search":
        paths = [str(httpx.URL("/search", params={"q": each[:300]})) for each in attacked.texts]
    assert len(paths) >= 60
    for path in paths:
        page = client.get(path)
        assert page.status_code == 200, (path, page.text[:400])
        assert objections(page.text) == [], path


def test_so_is_what_the_address_says(attacked: Hostile, client: httpx.Client) -> None:
    for n, text in enumerate(each[:200] for each in attacked.texts):
        asked: tuple[tuple[str, dict[str, str]], ...] = (
            (f"/runs/{NAMED}/results", {"text": text, "suite": text}),
            ("/runs", {"text": text, "model": text}),
            ("/cases", {"suite": text, "text": text}),
            ("/compare", {"base": text, "other": text}),
            ("/runs", {text or "x": "1"}),
        )
        path, parameters = asked[n % len(asked)]
        page = client.get(path, params=parameters)
        assert page.status_code in (200, 404, 414, 422), page.text[:400]
        assert objections(page.text) == [], page.url


def test_a_browser_runs_and_requests_nothing(attacked: Hostile, opened: Browser) -> None:
    context = opened.new_context()
    page = context.new_page()
    heard = listen(page)
    disputed = httpx.get(attacked.url + "/review.json?state=disputed").json()["rows"][0]
    for path in (*map(with_limit, PAGES), f"/evaluations/{disputed['evaluation_id']}"):
        page.goto(attacked.url + path)
        assert page.evaluate(FOREIGN) == 0, path
        assert page.evaluate(HEAPED) == [], path
    assert attacked.heard.paths == []
    assert heard.dialogs == []
    assert all(each.startswith(attacked.url) for each in heard.asked)
    context.close()


@pytest.mark.parametrize("path", LISTS)
def test_downloads_are_attachments_and_hold_no_formula(
    attacked: Hostile, client: httpx.Client, path: str
) -> None:
    page, _, query = path.partition("?")
    told = client.get(f"{page}.json?{query}").json()["paging"]
    matching = told["total"] if told["matching"] is None else told["matching"]
    for kind in ("csv", "jsonl"):
        found = client.get(f"{page}.{kind}?{query}")
        assert found.headers["content-disposition"].startswith("attachment;")
        assert found.headers["x-content-type-options"] == "nosniff"
        if kind == "jsonl":
            assert len([json.loads(line) for line in found.content.splitlines()]) == matching
            continue
        rows = list(csv.reader(io.StringIO(found.text)))
        assert len(rows) == matching + 1
        for cell in (cell for row in rows for cell in row):
            assert not cell.lstrip().startswith(FORMULAS), cell
    assert attacked.heard.paths == []
