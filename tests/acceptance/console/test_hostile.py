"""Hostile text wherever a page shows any: answers, names, errors, reviews, addresses, downloads.

Nothing of it is run, requested, hidden or reordered.
"""

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
from playwright.sync_api import Browser, Page

from failproof_es.console.texts import MOST_CHARACTERS
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.support.untrusted_text import lines, one_line
from tests.acceptance.commands import invoke, write_configuration
from tests.browser import Beacon, beacon, launched, listen
from tests.conftest import create_database, database_url_as, drop_database
from tests.console import answering, console, refusing, settings_for
from tests.console_html import objections
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
TURNS = "turns => turns.map(turn => turn.querySelector('pre').textContent)"

NAMED, AGAIN, BY_HAND = 1, 2, 3
"""The runs: two attempts at cases that are named hostilely, one that people review."""
MODEL = '"><img src=http://127.0.0.1:{port}/model onerror=window.ran=1>\u202e=1+1'
FILE = "<img src=x onerror=window.ran=1>\u202e\u05d0.jsonl"
REVIEWERS = (
    "=1+1", "<script>window.ran=1</script>", "\u05d0\u05d1 (jane) \u05d2",
    "\"onmouseover='window.ran=1'",
)  # fmt: skip
REVIEWED = 3
TALK = 8
"""So many texts are answers of one conversation; a long text is the only one of its own."""
LONG = 10_000
LISTS = (
    "/runs", f"/runs/{NAMED}/results", f"/compare?base={NAMED}&other={AGAIN}&show=all", "/suites",
    "/cases", "/review?state=all",
)  # fmt: skip
PAGES = (
    *LISTS, f"/runs/{NAMED}/matrix?limit=200", f"/runs/{NAMED}", f"/runs/{BY_HAND}",
    f"/runs/{NAMED}/cost", f"/runs/{NAMED}/charts", f"/runs/{BY_HAND}/charts",
    f"/runs/{BY_HAND}/results", "/ledger", "/search?q=window.ran",
)  # fmt: skip


class Hostile(NamedTuple):
    """A console over the three runs."""

    url: str
    texts: list[str]
    heard: Beacon
    rows: list[dict[str, Any]]
    """The results of the first run."""
    talks: list[tuple[dict[str, Any], list[str]]]
    """The results of the third run, each with its answers."""


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


def reviewed(number: int, texts: list[str]) -> dict[str, Any]:
    """A conversation that has all the texts as answers, and is named by its first."""
    text = _short(texts[0]) if texts[0].strip() else "none"
    return {
        "id": f"talk-{number}",
        "title": text,
        "category": text,
        "tags": [text],
        "severity_expectation": "S1",
        "turns": [
            {"role": "user", "content": f"{_short(each)} {answering(each)}"} for each in texts
        ],
        "expected_behavior": {"must_do": [text], "must_not_do": [], "pass_criteria": []},
    }


def _short(text: str) -> str:
    """Its beginning without zeros, which no case may have."""
    return "".join(text[:400].split("\0"))


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
        answers = hostile_answers(heard.port)
        short = [each for each in answers if len(each) < LONG]
        talks = [
            *(short[n : n + TALK] for n in range(0, len(short), TALK)),
            *([each] for each in answers if len(each) >= LONG),
        ]
        texts = [*map(_short, answers[:-2])]
        model = MODEL.replace("{port}", str(heard.port))
        _record(url, mock_url, folder, model, texts, talks)
        with console(**settings_for(url)) as base:
            by_hand = {row["case_id"]: row for row in _results(base, BY_HAND)}
            yield Hostile(
                base, texts, heard, _results(base, NAMED),
                [(by_hand[f"talk-{n}"], said) for n, said in enumerate(talks)],
            )  # fmt: skip
    drop_database(postgres_server, name)


def _record(
    url: str, mock_url: str, folder: Path, model: str, texts: list[str], talks: list[list[str]]
) -> None:
    models = [{"provider": "openai", "base_url": mock_url, "model": model}]
    for file, cases in (
        (FILE, [named(n, text) for n, text in enumerate(texts)]),
        ("people.jsonl", [reviewed(n, said) for n, said in enumerate(talks)]),
    ):
        (folder / file).write_bytes(b"\n".join(map(orjson.dumps, cases)))
    for file, dialect in ((FILE, "failproof"), (FILE, "failproof"), ("people.jsonl", "redteam")):
        prompts = {"path": file, "dialect": dialect}
        write_configuration(folder, mock_url, models=models, prompts=prompts)
        said = invoke(url, "start", "run.yaml", "--quiet", "--allow-unlisted", cwd=folder)
        assert said.exit_code in (0, 3), said.output[-6000:]
    for n, reviewer in enumerate(REVIEWERS):
        verdict = f"happened\n{('pass', 'fail')[n % 2]}\nS1\n{texts[1][:60]}\n{texts[n][:60]}\n"
        answers = verdict * REVIEWED + "quit\n"
        invoke(url, "review", BY_HAND, "--reviewer", reviewer, cwd=folder, answers=answers)


def _results(base: str, run: int) -> list[dict[str, Any]]:
    found = httpx.get(f"{base}/runs/{run}/results.json?limit=200", timeout=120)
    assert found.status_code == 200, found.text
    rows: list[dict[str, Any]] = found.json()["rows"]
    return rows


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


def number(row: dict[str, Any]) -> int:
    return int(row["case_id"].rpartition(" ")[2])


def test_every_text_is_on_record_in_every_place(attacked: Hostile, client: httpx.Client) -> None:
    assert len(attacked.texts) >= 60
    assert len(attacked.rows) == len(attacked.texts)
    for row in attacked.rows:
        text = attacked.texts[number(row)]
        assert row["case_id"] == f"{text[:200]} {number(row)}"
        if number(row) % 4 == 3:
            assert row["error_kind"] is not None
        else:
            assert row["answer"] == text[: len(row["answer"])]
            assert row["answer_cut"] == (len(row["answer"]) < len(text))
    assert sum(len(said) for _, said in attacked.talks) == len(attacked.texts) + 2
    assert all(row["state"] in ("awaiting", "unscored") for row, _ in attacked.talks)
    assert attacked.talks[-1][0]["answer_cut"] and not attacked.talks[0][0]["answer_cut"]
    review = client.get("/review.json?state=all&limit=200").json()
    assert sum(each["reviewers"] for each in review["rows"]) == len(REVIEWERS) * REVIEWED


def test_the_html_of_a_page_has_only_elements_of_its_own(
    attacked: Hostile, client: httpx.Client
) -> None:
    """The pages of every fifth text, and hostile addresses. The browser reads the conversations."""
    by_hand = [row for row, _ in attacked.talks]
    rows = [*attacked.rows[::5], *by_hand[::4]]
    cases = client.get("/cases.json?limit=200").json()["rows"]
    paths = [
        *(f"/evaluations/{row['evaluation_id']}" for row in attacked.rows[::5]),
        *(f"/streams/{row['evaluation_id']}" for row in rows[::2]),
        *(f"/events/{row['last_position'] - n % 3}" for n, row in enumerate(rows)),
        *(f"/cases/{each['prompt_id']}" for each in cases[::9]),
    ]
    for path in paths:
        page = client.get(path)
        assert page.status_code == 200, (path, page.text[:400])
        assert objections(page.text) == [], path
    for n, text in enumerate(each[:200] for each in attacked.texts[::4]):
        asked: tuple[tuple[str, dict[str, str]], ...] = (
            (f"/runs/{NAMED}/results", {"text": text, "suite": text}),
            ("/runs", {"text": text, "model": text}),
            ("/cases", {"suite": text, "text": text}),
            ("/compare", {"base": text, "other": text}),
            ("/runs", {text or "x": "1"}),
            ("/search", {"q": text}),
        )
        path, parameters = asked[n % len(asked)]
        page = client.get(path, params=parameters)
        assert page.status_code in (200, 404, 414, 422), page.text[:400]
        assert objections(page.text) == [], page.url


def test_a_browser_runs_requests_hides_and_reorders_nothing(
    attacked: Hostile, client: httpx.Client, opened: Browser
) -> None:
    page = opened.new_page()
    heard = listen(page)
    disputed = client.get("/review.json?state=disputed").json()["rows"][0]
    for path in (*map(with_limit, PAGES), f"/evaluations/{disputed['evaluation_id']}"):
        answer = page.goto(attacked.url + path)
        assert answer is not None and answer.status == 200
        assert objections(answer.text()) == [], path
        look(page, path)
        if path == with_limit(f"/runs/{NAMED}/results"):
            cells = page.locator("td.answer > bdi").all_text_contents()
            shown = [row["answer"] for row in attacked.rows if row["answer"] is not None]
            assert len(cells) == len(shown) > 60
            for whole, cell in zip(shown, cells, strict=True):
                assert cell.startswith(one_line(whole[:159])[:100])
    for row, said in attacked.talks:
        answer = page.goto(f"{attacked.url}/evaluations/{row['evaluation_id']}")
        assert answer is not None and answer.status == 200
        assert objections(answer.text()) == [], row["case_id"]
        look(page, row["case_id"])
        turns = page.locator(".turn.answer").evaluate_all(TURNS)
        for text, shown in zip(said, turns, strict=True):
            assert shown == lines(text[: len(shown)] if len(text) > MOST_CHARACTERS else text)
        assert page.title() == f"{row['case_id']} · failproof-es"
        visible = page.evaluate("document.body.innerText")
        assert visible == lines(visible)
        assert len(page.content()) < 600_000
    assert "more characters in 99,80" in page.inner_text(".turn.answer .note")
    with page.expect_download() as waiting:
        page.click(".turn.answer .note a")
    assert Path(waiting.value.path()).read_bytes() == attacked.talks[-1][1][0].encode()
    page.close()
    assert attacked.heard.paths == []
    assert heard.dialogs == []
    assert all(each.startswith(attacked.url) for each in heard.asked)


def look(page: Page, path: str) -> None:
    assert page.evaluate(FOREIGN) == 0, path
    assert page.evaluate(HEAPED) == [], path


def test_lists_are_downloaded_as_attachments_without_formulas(
    attacked: Hostile, client: httpx.Client
) -> None:
    for path in LISTS:
        page, _, query = path.partition("?")
        told = client.get(f"{page}.json?{query}").json()["paging"]
        matching = told["total"] if told["matching"] is None else told["matching"]
        csv_file, json_lines = (client.get(f"{page}.{kind}?{query}") for kind in ("csv", "jsonl"))
        for found in (csv_file, json_lines):
            assert found.headers["content-disposition"].startswith("attachment;")
            assert found.headers["x-content-type-options"] == "nosniff"
        rows = [json.loads(line) for line in json_lines.content.splitlines()]
        assert len(rows) == matching
        if page.endswith("/results"):
            assert [row["answer"] for row in rows] == [row["answer"] for row in attacked.rows]
        table = list(csv.reader(io.StringIO(csv_file.text)))
        assert len(table) == matching + 1
        for cell in (cell for row in table for cell in row):
            assert not cell.lstrip().startswith(FORMULAS), cell
    assert attacked.heard.paths == []


def test_every_text_is_downloaded_whole_as_an_attachment(
    attacked: Hostile, client: httpx.Client
) -> None:
    for row, said in attacked.talks:
        url = f"/evaluations/{row['evaluation_id']}"
        turns = client.get(url + ".json").json()["turns"]
        assert len(turns) == 2 * len(said)
        for n, text in enumerate(said, 1):
            whole = client.get(f"{url}/texts/turn-{2 * n}")
            assert whole.content == text.encode()
            assert whole.headers["content-disposition"].startswith("attachment;")
            assert whole.headers["content-type"] == "application/octet-stream"
            assert whole.headers["x-content-type-options"] == "nosniff"
            answer = turns[2 * n - 1]["text"]
            assert answer["characters"] == len(text)
            if len(text) > MOST_CHARACTERS:
                assert answer["more_characters"] > 0 and answer["whole"] == whole.url.path
