"""What the pages of runs show is what the log holds, as HTML, JSON, JSON lines and CSV."""

from __future__ import annotations

import csv
import io
import json
import re
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from psycopg import sql

from failproof_es.console import links, paging
from failproof_es.console.links import CurrentPage
from failproof_es.console.pages import all_pages
from failproof_es.console.pages.runs import RunsQuery
from failproof_es.console.paging import BadParameter
from failproof_es.reading.at_head import catch_up_problem
from failproof_es.store.reading.reader import max_position
from failproof_es.store.store import Store
from failproof_es.support.document import json_name
from tests.acceptance.commands import invoke, mock_server, write_configuration
from tests.console import console, settings_for

RESULTS = (
    "SELECT r.run_number, e.model_key, count(*) FILTER (WHERE passed), "
    "count(*) FILTER (WHERE NOT passed), count(*) FILTER (WHERE status IN ('scored', 'abandoned')) "
    "FROM projections.run_results AS e JOIN failproof.run_list AS r USING (run_id) GROUP BY 1, 2"
)
ERRORS = (
    "SELECT count(*) FROM failproof.stored_events AS e JOIN failproof.run_list AS r "
    "ON r.run_id = e.run_id WHERE e.topic = 'ErrorRecorded' AND r.run_number = 1"
)


class Text(HTMLParser):
    """The text of a page, and its links."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.links: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def test_the_first_page_leads_to_the_runs(client: httpx.Client) -> None:
    found = client.get("/")
    assert (found.status_code, found.headers["location"]) == (303, "/runs")


def test_the_numbers_of_every_run_are_those_of_sql(client: httpx.Client, console_log: str) -> None:
    rows = client.get("/runs.json").json()["rows"]
    shown = {
        (row["run"]["run_number"], each["model"]): (
            each["passed"]["passed"],
            each["passed"]["total"] - each["passed"]["passed"],
        )
        for row in rows
        for each in row["models"]
    }
    with psycopg.connect(console_log) as connection:
        counted = connection.execute(RESULTS).fetchall()
    assert shown == {(run, model): (passed, failed) for run, model, passed, failed, _ in counted}
    assert len(shown) == 7
    for number in (1, 4):
        page = client.get(f"/runs/{number}.json").json()
        told = {each["model"]: each["counts"]["finished"] for each in page["by_model"]}
        assert told == {model: done for run, model, _, _, done in counted if run == number}


def test_errors_are_in_groups_that_add_up(client: httpx.Client, console_log: str) -> None:
    page = client.get("/runs/1.json").json()
    with psycopg.connect(console_log) as connection:
        row = connection.execute(ERRORS).fetchone()
    assert row is not None and row[0] > 0
    assert sum(each["requests"] for each in page["errors"]) == row[0]
    assert page["counts"]["failed_requests"] == row[0]


def test_a_page_shows_what_its_json_holds(client: httpx.Client) -> None:
    page, text = client.get("/runs/1.json").json(), Text(client.get("/runs/1").text).text
    for each in page["by_model"]:
        assert each["model"] in text
        assert f"{each['passed']['passed']}/{each['passed']['total']}" in text
    for each in page["errors"]:
        assert each["message"] in text
    for each in page["history"]:
        assert f"event {each['position']:,}" in text
    assert page["run_id"] in text
    assert "not met" in text and "sealed" in text and "no problems found" in text


def test_every_page_says_of_which_moment_it_is(client: httpx.Client, console_log: str) -> None:
    with psycopg.connect(console_log) as connection:
        row = connection.execute("SELECT max(notification_id) FROM failproof.events").fetchone()
    assert row is not None
    for path in ("/runs", "/runs/1"):
        as_of = client.get(f"{path}.json").json()["as_of"]
        assert as_of["events_up_to"] == as_of["head"] == row[0]
        assert as_of["lag"] == 0 and as_of["projection_versions"]["run_results"] > 0
        assert f"Events up to {row[0]:,}" in Text(client.get(path).text).text


def test_an_unknown_cost_is_never_shown_as_nothing(client: httpx.Client) -> None:
    text = Text(client.get("/runs/1").text).text
    assert "unknown" in text and "unpriced: 42" in text
    assert "$0" not in text


def test_attempts_have_a_trend(client: httpx.Client) -> None:
    rows = client.get("/runs.json?text=nightly").json()["rows"]
    assert [(row["run"]["attempt"], row["run"]["attempts"]) for row in rows] == [
        (3, 3), (2, 3), (1, 3),
    ]  # fmt: skip
    for row in rows:
        for model in row["models"]:
            assert [each["attempt"] for each in model["trend"]] == [1, 2, 3]
            assert {each["passed"] for each in model["trend"]} == {model["passed"]["passed"]}
        assert sum(model["passed"]["passed"] for model in row["models"]) == 30
    (alone,) = client.get("/runs.json?text=smoke").json()["rows"]
    assert [model["trend"] for model in alone["models"]] == [[] for _ in alone["models"]]


# -- filters and pages ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("", [4, 3, 2, 1]),
        ("status=completed", [4, 3, 2, 1]),
        ("status=running", []),
        ("model=mock-large", [3, 2, 1]),
        ("model=nobody", []),
        ("text=SMOKE", [4]),
        ("text=2", [2]),
        ("text=nightly&model=mock", [3, 2, 1]),
        ("text=&model=&status=", [4, 3, 2, 1]),
        ("text=%25", []),
    ],
)
def test_a_filter_leaves_what_it_names_and_says_what_it_hides(
    client: httpx.Client, query: str, numbers: list[int]
) -> None:
    page = client.get(f"/runs.json?{query}").json()
    assert [row["run"]["run_number"] for row in page["rows"]] == numbers
    assert (page["paging"]["matching"], page["paging"]["total"]) == (len(numbers), 4)
    text = Text(client.get(f"/runs?{query}").text).text
    hidden = 4 - len(numbers)
    assert (f"{hidden} hidden by this filter" in text) == bool(hidden)
    lines = client.get(f"/runs.jsonl?{query}").text.splitlines()
    assert [json.loads(line)["run_number"] for line in lines] == numbers


def test_a_run_is_found_by_the_first_part_of_its_id(client: httpx.Client) -> None:
    for row in client.get("/runs.json").json()["rows"]:
        own = row["run"]["run_id"]
        for part in (own, own[:9], own[:8].upper()):
            (found,) = client.get(f"/runs.json?text={part}").json()["rows"]
            assert found["run"]["run_id"] == own
        few = client.get(f"/runs.json?text={own[:7]}").json()["rows"]
        assert own not in {each["run"]["run_id"] for each in few}


def test_pages_follow_each_other_and_miss_nothing(client: httpx.Client) -> None:
    seen: list[int] = []
    url = "/runs.json?limit=1&status=completed"
    while True:
        page = client.get(url).json()
        seen += [row["run"]["run_number"] for row in page["rows"]]
        if page["paging"]["next"] is None:
            break
        url = f"/runs.json?limit=1&status=completed&after={page['paging']['next']}"
    assert seen == [4, 3, 2, 1]


def test_the_link_to_the_next_page_keeps_the_filter(client: httpx.Client) -> None:
    links_there = Text(client.get("/runs?limit=2&text=nightly").text).links
    assert "/runs?limit=2&text=nightly&after=2" in links_there
    assert "/runs.json?limit=2&text=nightly" in links_there
    assert "/runs.csv?text=nightly" in links_there
    after = Text(client.get("/runs?limit=2&text=nightly&after=2").text).links
    assert "/runs?limit=2&text=nightly" in after


_VALUES = re.compile(r"(?<=[?&])([^=&]*)=[^&]*|[0-9a-f]{8}-[0-9a-f-]{27}|(?<=/)[0-9]+(?![^/?.])")


@pytest.mark.slow
def test_every_link_of_a_page_leads_somewhere(client: httpx.Client) -> None:
    """Of a page's links that differ in a number, an id or the value of a parameter, one."""
    case = client.get("/cases.json").json()["rows"][0]["prompt_id"]
    pages_of_links: dict[str, str] = {}
    for page in (
        "/runs", "/runs/1", "/runs/4", "/runs?text=none", "/nothing", "/compare",
        "/compare?base=1&other=2", "/compare?base=2&other=4", "/suites", "/cases",
        "/cases?text=none", f"/cases/{case}", "/review", "/runs/2/charts",
    ):  # fmt: skip
        shown = client.get(page)
        assert shown.status_code == (404 if page == "/nothing" else 200), page
        there = [link for link in Text(shown.text).links if link.startswith("/")]
        of_forms = {_VALUES.sub(r"\1", link): link for link in there}
        pages_of_links |= dict.fromkeys(of_forms.values(), page)
    assert len(pages_of_links) > 30
    for link, page in pages_of_links.items():
        assert client.get(link).status_code in (200, 303), (page, link)


def test_a_table_for_spreadsheets_has_every_field_and_no_formula(client: httpx.Client) -> None:
    found = client.get("/runs.csv")
    assert found.headers["content-type"] == "text/csv; charset=utf-8"
    assert found.headers["content-disposition"] == 'attachment; filename="runs.csv"'
    rows = list(csv.DictReader(io.StringIO(found.text)))
    told = [json.loads(line) for line in client.get("/runs.jsonl").text.splitlines()]
    assert [row["name"] for row in rows] == [each["name"] for each in told]
    assert list(rows[0]) == list(told[0])


def test_a_cursor_can_be_read_and_survives_odd_keys() -> None:
    for key in (("a~b", 7), ("%7E", -1), ("\u202e/é", 0), ("", 1)):
        text = paging.cursor(*key)
        assert text.isascii()
        kinds: tuple[Any, ...] = (str, int)
        assert paging.read_cursor(text, *kinds) == key
    for bad in ("", "1", "1~2~3", "x~y", "~"):
        with pytest.raises(BadParameter):
            paging.read_cursor(bad, int, int)


def test_links_quote_what_they_are_given_and_leave_out_defaults() -> None:
    assert links.to("runs", "../x?y#z", model="a&b", none=None) == (
        "/runs/..%2Fx%3Fy%23z?model=a%26b"
    )
    here = CurrentPage("/runs", RunsQuery(status="failed", limit=10, after="7"))
    assert here.with_(model="m") == "/runs?limit=10&status=failed&model=m"
    assert here.without("status") == "/runs?limit=10"
    assert here.twin("json") == "/runs.json?limit=10&after=7&status=failed"
    assert here.twin("csv") == "/runs.csv?status=failed"


# -- what is not there ------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/runs/99", "/runs/none", "/runs/..%20", "/nothing", "/runs/1/x"])
def test_what_is_not_there_says_what_to_do(client: httpx.Client, path: str) -> None:
    found = client.get(path)
    assert found.status_code == 404
    assert "/runs" in Text(found.text).links
    if path == "/runs/99":
        assert "runs 1 to 4 exist" in found.text
        assert client.get("/runs/99.json").json()["error"].startswith("There is no run")


def test_a_run_is_found_by_its_number_its_id_and_as_the_latest(client: httpx.Client) -> None:
    run_id = client.get("/runs/4.json").json()["run_id"]
    for name in (run_id, "latest"):
        assert client.get(f"/runs/{name}.json").json()["run_number"] == 4


def test_an_empty_log_says_how_to_begin(store: Store) -> None:
    with console(**settings_for(store.url)) as url:
        found = httpx.get(url + "/runs", timeout=30)
        assert found.status_code == 200
        assert "failproof-es start quickstart" in found.text
        for path in ("/compare", "/suites", "/cases", "/review"):
            found = httpx.get(url + path, timeout=30)
            if found.status_code == 503:  # nothing is projected yet
                assert "projections rebuild" in found.text
            else:
                assert found.status_code == 200 and "failproof-es" in found.text, path
        assert httpx.get(url + "/runs.jsonl").text == ""
        assert httpx.get(url + "/runs/latest").status_code == 404


def test_a_log_that_nobody_may_follow_is_read_itself_and_said_to_be(
    store: Store, mock_runs: None
) -> None:
    with console(**(settings_for(store.url) | {"follower_url": None})) as url:
        page = httpx.get(url + "/runs.json", timeout=60).json()
        assert page["as_of"]["source"] == "log"
        assert "the projections are not built" in page["as_of"]["warning"]
        assert [row["run"]["run_number"] for row in page["rows"]] == [1]
        assert "the projections are not built" in httpx.get(url + "/runs", timeout=60).text
        assert httpx.get(url + "/runs/1", timeout=60).status_code == 200


def take_back(administrator: psycopg.Connection[Any], reached: int) -> None:
    """The projections as they were before run 2."""
    tables = administrator.execute(
        "SELECT c.table_name FROM information_schema.columns AS c "
        "JOIN information_schema.tables AS t USING (table_schema, table_name) "
        "WHERE table_schema = 'projections' AND column_name = 'run_id' "
        "AND table_type = 'BASE TABLE'"
    ).fetchall()
    for (name,) in tables:
        administrator.execute(
            sql.SQL(
                "DELETE FROM projections.{} WHERE run_id = "
                "(SELECT run_id FROM failproof.run_list WHERE run_number = 2)"
            ).format(sql.Identifier(name))
        )
    administrator.execute("UPDATE projections.positions SET position = %s", (reached,))


def test_rows_that_are_behind_are_shown_as_of_their_position(
    store: Store, mock_runs: None, tmp_path: Path, administrator: psycopg.Connection[Any]
) -> None:
    with store.connect() as connection:
        assert catch_up_problem(connection) is None
        reached = max_position(connection)
    with mock_server(latency_ms=0) as mock_url:
        write_configuration(tmp_path, mock_url, test_run={"name": "later"})
        invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path)
    take_back(administrator, reached)
    nobody_follows = settings_for(store.url) | {"follower_url": None}
    with console(**nobody_follows) as url:
        page = httpx.get(url + "/runs.json", timeout=60).json()
        assert page["as_of"]["events_up_to"] == reached
        assert page["as_of"]["lag"] == page["as_of"]["head"] - reached > 0
        assert [row["run"]["run_number"] for row in page["rows"]] == [1]
        assert "behind by" in Text(httpx.get(url + "/runs", timeout=60).text).text
        later = httpx.get(url + "/runs/2.json", timeout=60)
        assert later.status_code == 404
        assert "Load the page again" in later.json()["remedy"]
    with console(**settings_for(store.url)) as url:
        deadline = time.monotonic() + 60
        while httpx.get(url + "/runs.json", timeout=60).json()["as_of"]["lag"]:
            assert time.monotonic() < deadline, "nobody brings them up"
            time.sleep(0.1)
        assert httpx.get(url + "/runs/2.json", timeout=60).json()["name"] == "later"


def test_each_page_is_registered_once_and_has_a_template_of_its_name() -> None:
    pages = all_pages()
    assert len({page.name for page in pages}) == len({page.path for page in pages}) == len(pages)
    assert {page.path for page in pages} >= {"/runs", "/runs/{run}"}


def test_the_openapi_document_has_every_page_as_data(client: httpx.Client) -> None:
    document = client.get("/openapi.json").json()
    for page in all_pages():
        told = document["paths"][page.path + ".json"]["get"]
        assert told["summary"] == page.says
        named = {each["name"] for each in told.get("parameters", ())}
        assert set(map(json_name, page.query.model_fields)) <= named
        for extension in (".jsonl", ".csv"):
            assert (page.path + extension in document["paths"]) == (page.rows is not None)
