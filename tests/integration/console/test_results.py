"""The results of a run and one evaluation: what the pages show is what the log holds."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from typing import Any

import httpx
import psycopg
import pytest

from failproof_es.console.texts import quotes_in, text_shown, with_quotations
from tests.console import console, settings_for
from tests.integration.console.test_pages import Text

RESULTS = (
    "SELECT e.evaluation_id::text, e.model_key, e.suite_id, e.case_id, e.class, e.passed, "
    "e.status, e.lost, e.error_kind, e.category, e.requests, e.last_position, "
    "e.answer #>> '{}' AS answer FROM projections.run_results AS e "
    "JOIN failproof.run_list AS r USING (run_id) WHERE r.run_number = %s"
)


def rows_of(url: str, run: int) -> list[dict[str, Any]]:
    with psycopg.connect(url, row_factory=psycopg.rows.dict_row) as connection:
        return connection.execute(RESULTS, (run,)).fetchall()


def sent_and_answered(url: str, run: int) -> tuple[int, int]:
    """Of the log itself."""
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT count(*) FILTER (WHERE e.topic = 'Scored'), "
            "count(*) FILTER (WHERE e.topic IN ('Scored', 'EvaluationAbandoned')) "
            "FROM failproof.stored_events AS e JOIN failproof.run_list AS r "
            "ON r.run_id = e.run_id WHERE r.run_number = %s",
            (run,),
        ).fetchone()
    assert row is not None
    return row[0], row[1]


def test_the_list_holds_what_the_log_ended_and_failures_come_first(
    client: httpx.Client, console_log: str
) -> None:
    page = client.get("/runs/1/results.json?limit=200").json()
    scored, ended = sent_and_answered(console_log, 1)
    assert page["paging"]["total"] == page["paging"]["matching"] == len(page["rows"]) == ended
    told = rows_of(console_log, 1)
    assert {row["evaluation_id"] for row in page["rows"]} == {row["evaluation_id"] for row in told}
    states = [row["state"] for row in page["rows"]]
    order = ["failed", "lost", "unscored", "awaiting", "scored", "passed"]
    assert states == sorted(states, key=order.index)
    assert states.count("failed") == sum(row["passed"] is False for row in told) > 0
    assert states.count("lost") == sum(row["lost"] for row in told) > 0
    assert sum(state in ("failed", "scored", "passed") for state in states) == scored
    by_id = {row["evaluation_id"]: row for row in told}
    for row in page["rows"]:
        assert row["answer"] == by_id[row["evaluation_id"]]["answer"]
        assert row["last_position"] == by_id[row["evaluation_id"]]["last_position"]


@pytest.mark.parametrize("status", ["completed"])
def test_an_unknown_value_is_refused_by_name(client: httpx.Client, status: str) -> None:
    found = client.get(f"/runs/1/results?status={status}")
    assert found.status_code == 422 and "status" in found.text


def test_each_facet_leaves_as_many_as_it_says(client: httpx.Client, console_log: str) -> None:
    page = client.get("/runs/1/results.json").json()
    told = rows_of(console_log, 1)
    counted = 0
    columns = {
        "model": "model_key", "suite": "suite_id", "category": "category",
        "class": "class", "error": "error_kind",
    }  # fmt: skip
    for facet in page["facets"]:
        for each in facet["values"]:
            if each["value"] is None:
                continue
            counted += 1
            by = {facet["name"]: each["value"]}
            found = client.get("/runs/1/results.json", params=by | {"limit": 200}).json()
            assert found["paging"]["matching"] == each["results"] == len(found["rows"]), by
            if column := columns.get(facet["name"]):
                assert each["results"] == sum(row[column] == each["value"] for row in told), by
            hidden = page["paging"]["total"] - each["results"]
            shown = Text(client.get("/runs/1/results", params=by).text).text
            assert (f"{hidden} hidden by this filter" in shown) == bool(hidden)
    assert counted > 12
    assert {"status", "model", "suite", "class", "error", "latency", "requests"} <= {
        facet["name"] for facet in page["facets"]
    }


@pytest.mark.parametrize(
    ("query", "matches"),
    [
        ("text=CASE-00001", lambda row: row["case_id"] == "case-00001"),
        ("text=something+ELSE", lambda row: "omething else" in (row["answer"] or "")),
        ("status=abandoned", lambda row: row["status"] == "abandoned"),
        (
            "status=passed&model=mock-large",
            lambda r: r["passed"] and r["model_key"] == "mock-large",
        ),
        ("status=unfinished", lambda row: False),
        ("text=%25", lambda row: False),
        ("text=%00", lambda row: False),
        ("tag=nothing", lambda row: False),
        ("model=nobody", lambda row: False),
    ],
)
def test_a_filter_leaves_what_sql_leaves(
    client: httpx.Client, console_log: str, query: str, matches: Any
) -> None:
    wanted = {row["evaluation_id"] for row in rows_of(console_log, 1) if matches(row)}
    page = client.get(f"/runs/1/results.json?limit=200&{query}").json()
    assert {row["evaluation_id"] for row in page["rows"]} == wanted
    lines = client.get(f"/runs/1/results.jsonl?{query}").text.splitlines()
    assert [json.loads(line)["evaluation_id"] for line in lines] == [
        row["evaluation_id"] for row in page["rows"]
    ]
    table = list(csv.DictReader(io.StringIO(client.get(f"/runs/1/results.csv?{query}").text)))
    assert [row["evaluation_id"] for row in table] == [row["evaluation_id"] for row in page["rows"]]


def test_pages_follow_each_other_and_miss_nothing(client: httpx.Client) -> None:
    whole = [
        row["evaluation_id"] for row in client.get("/runs/1/results.json?limit=200").json()["rows"]
    ]
    seen: list[str] = []
    url = "/runs/1/results?limit=7"
    while True:
        data = client.get(url.replace("results?", "results.json?")).json()
        seen += [row["evaluation_id"] for row in data["rows"]]
        following = [
            link
            for link in Text(client.get(url).text).links
            if "after=" in link and "json" not in link
        ]
        if not following:
            break
        assert f"up_to={data['up_to']}" in following[0]
        url = following[0]
    assert seen == whole


def test_rows_stay_while_others_end(client: httpx.Client) -> None:
    rows = client.get("/runs/1/results.json?limit=200").json()["rows"]
    middle = sorted(row["last_position"] for row in rows)[len(rows) // 2]
    page = client.get(f"/runs/1/results.json?limit=200&up_to={middle}").json()
    assert [row["evaluation_id"] for row in page["rows"]] == [
        row["evaluation_id"] for row in rows if row["last_position"] <= middle
    ]
    assert page["newer"] == len(rows) - len(page["rows"]) > 0
    assert "newer results: show" in Text(client.get(f"/runs/1/results?up_to={middle}").text).text


def test_previous_and_next_stay_within_the_filter(client: httpx.Client) -> None:
    listed = [
        row["evaluation_id"]
        for row in client.get("/runs/1/results.json?status=failed&model=mock").json()["rows"]
    ]
    assert len(listed) > 2
    links = Text(client.get("/runs/1/results?status=failed&model=mock").text).links
    [url] = [link for link in links if link.startswith(f"/evaluations/{listed[0]}")]
    seen = []
    while url:
        page = client.get(url.replace("?", ".json?")).json()
        seen.append(page["evaluation_id"])
        assert (page["previous"] or {}).get("evaluation_id") == (
            seen[-2] if len(seen) > 1 else None
        )
        following = page["next"]
        url = ""
        if following is not None:
            url = f"/evaluations/{following['evaluation_id']}?" + "model=mock&status=failed"
            assert following["state"] == "failed"
    assert seen == listed


def test_an_evaluation_tells_its_events_byte_for_byte(
    client: httpx.Client, console_log: str
) -> None:
    rows = client.get("/runs/1/results.json?limit=200").json()["rows"]
    chosen = {row["state"]: row for row in rows} | {
        "retried": max(rows, key=lambda r: r["retries"])
    }
    assert chosen["retried"]["retries"] > 0
    with psycopg.connect(console_log) as connection:
        for row in chosen.values():
            stored = connection.execute(
                "SELECT notification_id, topic, convert_from(state, 'UTF8')::json "
                "FROM failproof.stored_events WHERE originator_id = %s ORDER BY 1",
                (row["evaluation_id"],),
            ).fetchall()
            page = client.get(f"/evaluations/{row['evaluation_id']}.json").json()
            assert [(s["position"], s["topic"]) for s in page["steps"]] == [s[:2] for s in stored]
            sent = [state for _, topic, state in stored if topic == "RequestSent"]
            assert [a["request"]["sha256"] for a in page["attempts"]] == [
                state["body_sha256"] for state in sent
            ]
            for attempt, state in zip(page["attempts"], sent, strict=True):
                whole = client.get(
                    f"/evaluations/{row['evaluation_id']}/texts/body-{attempt['request']['position']}"
                )
                assert whole.text == state["body"]
                assert hashlib.sha256(whole.content).hexdigest() == state["body_sha256"]
                assert whole.headers["content-disposition"].startswith("attachment;")
                assert whole.headers["content-type"] == "application/octet-stream"
                if answer := attempt["response"]:
                    came = client.get(
                        f"/evaluations/{row['evaluation_id']}/texts/body-{answer['position']}"
                    )
                    assert hashlib.sha256(came.content).hexdigest() == answer["sha256"]
            assert page["verdict"]["requests"] == len(sent) == row["requests"]
            assert page["run_number"] == 1
            assert {each["run_number"] for each in page["elsewhere"]} <= {2, 3, 4}
            assert len(page["in_run"]) == 1 and len(page["elsewhere"]) >= 4
            assert client.get(f"/evaluations/{row['evaluation_id']}").status_code == 200


@pytest.mark.parametrize(("status", "folded"), [("failed", False), ("passed", True)])
def test_what_was_expected_stands_beside_what_came_before_the_conversation(
    client: httpx.Client, status: str, folded: bool
) -> None:
    [row] = client.get(f"/runs/1/results.json?limit=1&status={status}").json()["rows"]
    page = client.get(f"/evaluations/{row['evaluation_id']}.json").json()
    met = [each["met"] for each in page["expectations"]]
    assert met == sorted(met) and (False in met) == (status == "failed") and met
    number = int(row["case_id"].removeprefix("case-"))
    expected = [each["expected"]["pieces"][0]["text"] for each in page["expectations"]]
    assert any(f"number {number}" in text for text in expected)
    html = client.get(f"/evaluations/{row['evaluation_id']}").text
    shown = Text(html).text
    assert shown.index("Expected and got") < shown.index("Conversation")
    assert ("expectation met" in shown) == folded


@pytest.mark.parametrize(
    "path",
    [
        "/evaluations/x", "/evaluations/00000000-0000-8000-8000-000000000000",
        "/evaluations/..x", "/runs/99/results", "/runs/none/results",
    ],
)  # fmt: skip
def test_what_is_not_there_says_what_to_do(client: httpx.Client, path: str) -> None:
    found = client.get(path)
    assert found.status_code == 404 and "/runs" in found.text


@pytest.mark.parametrize(
    "query",
    [
        "after=x", "after=9~1~00000000-0000-8000-8000-000000000000", "after=1~2~3",
        "after=1~99999999999999999999~00000000-0000-8000-8000-000000000000", "limit=0",
        "limit=201", "up_to=-1", "up_to=99999999999999999999", "latency=1", "cost=x", "sort=x",
        "text=" + "x" * 301,
    ],
)  # fmt: skip
def test_odd_parameters_are_named(client: httpx.Client, query: str) -> None:
    found = client.get(f"/runs/1/results.json?{query}")
    assert found.status_code == 422
    assert query.partition("=")[0] in found.json()["error"]


def test_a_part_that_is_not_there_is_not_found(client: httpx.Client) -> None:
    row = client.get("/runs/1/results.json").json()["rows"][0]
    for part in ("turn-0", "turn-99", "body-1", "body-x", "message-", "x", "case-1"):
        assert client.get(f"/evaluations/{row['evaluation_id']}/texts/{part}").status_code == 404


def test_without_projections_results_say_so_and_an_evaluation_is_read_from_the_log(
    store: Any, mock_runs: None
) -> None:
    with psycopg.connect(store.url) as connection:
        row = connection.execute(
            "SELECT originator_id FROM failproof.stored_events WHERE topic = 'Scored' LIMIT 1"
        ).fetchone()
    assert row is not None
    with console(**(settings_for(store.url) | {"follower_url": None})) as url:
        found = httpx.get(url + "/runs/1/results", timeout=60)
        assert found.status_code == 503 and "projections rebuild" in found.text
        page = httpx.get(url + f"/evaluations/{row[0]}.json", timeout=60).json()
        assert page["as_of"]["source"] == "log" and page["verdict"]["status"] == "scored"


# -- texts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["x" * 10_000_000, "line\n" * 100_000, "\n" * 201, "short", ""])
def test_a_text_is_cut_and_says_by_how_much(text: str) -> None:
    shown = text_shown(text, "/whole")
    told = "".join(piece.text for piece in shown.pieces)
    assert text.startswith(told)
    assert len(told) + shown.more_characters == shown.characters == len(text)
    assert len(told) <= 6_000 and told.count("\n") < 201
    assert (shown.whole == "/whole") == (told != text)


def test_quotations_are_marked_where_they_stand() -> None:
    text = "The sky is\n  blue today. I said the sky is blue." + "." * 10_000 + " the far end here"
    quotes = [("a", "sky is blue today"), ("b", "blue today. I"), ("a", "never said"),
              ("b", "the far end"), ("a", "ay is blue")]  # fmt: skip
    shown, told = with_quotations(text, quotes, "/whole")
    assert [each.found for each in told] == ["marked", "marked", "not found", "beyond", "not found"]
    marked = [(piece.text, piece.quoted_by) for piece in shown.pieces if piece.quoted_by]
    assert marked == [("sky is\n  ", ("a",)), ("blue today", ("a", "b")), (". I", ("b",))]
    assert "".join(piece.text for piece in shown.pieces) == text[:6_000]


def test_quotations_are_found_in_any_verdict() -> None:
    verdict = {"items": [{"quote": "one two"}, {"quote": None}], "quotations": ["three", 4, " "]}
    assert set(quotes_in("j", verdict)) == {("j", "one two"), ("j", "three")}
