"""The search box finds what has a name wherever it is, and says how far it looked for the rest."""

from __future__ import annotations

import json
from typing import Any

import httpx
import psycopg
import pytest

from failproof_es.reading import search as searching
from tests.integration.console.test_pages import Text

FACTS = """
SELECT e.evaluation_id::text AS evaluation, e.prompt_id::text AS case, l.run_id::text AS run,
    s.notification_id AS event, encode(s.leaf_hash, 'hex') AS leaf,
    convert_from(s.state, 'UTF8')::json ->> 'provider_request_id' AS request,
    r.configuration_digest AS configuration
FROM failproof.stored_events AS s
JOIN projections.evaluations AS e ON e.evaluation_id = s.originator_id
JOIN failproof.run_list AS l ON l.run_id = e.run_id
JOIN projections.runs AS r ON r.run_id = e.run_id
WHERE s.topic = 'ResponseReceived' AND l.run_number = 4 ORDER BY s.notification_id LIMIT 1
"""


@pytest.fixture
def facts(client: httpx.Client, console_log: str) -> dict[str, Any]:
    """What can be looked for of one answer of run 4."""
    client.get("/runs")  # brings the projections up
    with psycopg.connect(console_log) as connection:
        connection.row_factory = psycopg.rows.dict_row  # type: ignore[assignment]
        row: Any = connection.execute(FACTS).fetchone()
    assert row is not None
    return dict(row)


@pytest.mark.parametrize("named", ["evaluation", "run", "event", "leaf"])
def test_one_exact_hit_is_shown_at_once(
    client: httpx.Client, facts: dict[str, Any], named: str
) -> None:
    query = f"event {facts['event']}" if named == "event" else str(facts[named])
    found = client.get("/search", params={"q": query})
    assert found.status_code == 303
    target = found.headers["location"]
    assert (
        target
        == {
            "evaluation": target if facts["evaluation"] in target else None,
            "run": "/runs/4",
            "event": f"/events/{facts['event']}",
            "leaf": f"/events/{facts['event']}",
        }[named]
    )
    assert client.get(target).status_code == 200
    assert client.get("/search.json", params={"q": query}).json()["only"] == target


def test_a_number_names_a_run_and_an_event_so_both_are_listed(client: httpx.Client) -> None:
    page = client.get("/search.json?q=4").json()
    assert [each["url"] for each in page["hits"] if each["hit"]["exact"]] == [
        "/runs/4", "/events/4",
    ]  # fmt: skip
    for query, target in (("run 4", "/runs/4"), ("Event #4", "/events/4"), ("run:4", "/runs/4")):
        found = client.get("/search", params={"q": query})
        assert (found.status_code, found.headers["location"]) == (303, target)


def test_cases_and_names_are_found(client: httpx.Client, facts: dict[str, Any]) -> None:
    hits = client.get("/search.json?q=case-00007").json()["hits"]
    assert {each["hit"]["title"] for each in hits if each["hit"]["kind"] == "case"} == {
        "case-00007"
    }
    some = client.get("/search.json?q=case-0000").json()["hits"]
    assert not any(each["hit"]["exact"] for each in some)
    assert {each["hit"]["title"] for each in some if each["hit"]["kind"] == "case"} >= {
        f"case-{n:05}" for n in range(9)
    }
    assert client.get("/search", params={"q": "smoke"}).headers["location"] == "/runs/4"
    part = client.get("/search", params={"q": "smok"})
    assert part.status_code == 200 and "/runs/4" in part.text  # a part of a name is no exact hit
    nightly = client.get("/search.json?q=NIGHTLY").json()["hits"]
    assert [each["url"] for each in nightly if each["hit"]["kind"] == "run"] == [
        "/runs/3", "/runs/2", "/runs/1",
    ]  # fmt: skip
    digest = client.get("/search.json", params={"q": facts["configuration"]}).json()
    assert "/runs/4" in [each["url"] for each in digest["hits"]]


def test_words_in_answers_are_found_and_it_is_said_how_far_was_looked(
    client: httpx.Client, console_log: str
) -> None:
    page = client.get("/search.json", params={"q": "sOmething ELSE"}).json()
    with psycopg.connect(console_log) as connection:
        row = connection.execute(
            "SELECT count(*) FROM projections.evaluations WHERE answer #>> '{}' = 'Something else.'"
        ).fetchone()
    assert row is not None and row[0] > 0
    assert len(page["hits"]) == min(row[0], searching.MOST_OF_A_KIND)
    assert all("Something else." in each["hit"]["says"] for each in page["hits"])
    looked = {each["what"]: each for each in page["looked"]}
    assert looked["words in answers"]["complete"] is True
    assert "all of the" in Text(client.get("/search", params={"q": "no such words"}).text).text


def test_words_of_a_question_find_its_case_and_its_results(client: httpx.Client) -> None:
    hits = client.get("/search.json", params={"q": "say NUMBER 7."}).json()["hits"]
    assert {hit["hit"]["title"] for hit in hits} == {"case-00007"}
    assert all("Say number 7." in hit["hit"]["says"] for hit in hits)
    rows = client.get("/runs/1/results.json", params={"text": "say NUMBER 7."}).json()["rows"]
    assert {row["case_id"] for row in rows} == {"case-00007"}


def test_a_bound_that_was_reached_is_said(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "EVALUATIONS_LOOKED_AT", 5)
    monkeypatch.setattr(searching, "EVENTS_LOOKED_AT", 3)
    monkeypatch.setattr(searching, "CASES_LOOKED_AT", 4)
    page = client.get("/search.json?q=no-such-thing-anywhere").json()
    looked = {each["what"]: (each["looked_at"], each["complete"]) for each in page["looked"]}
    assert looked == {
        "words in answers": (5, False), "provider request ids": (3, False),
        "words in cases": (4, False),
    }  # fmt: skip
    text = Text(client.get("/search?q=no-such-thing-anywhere").text).text
    assert "older ones were not looked at" in text and "Nothing was found" in text


def test_words_of_cases_are_read_within_a_number_of_bytes_and_of_hits(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look() -> tuple[int, list[Any]]:
        page = client.get("/search.json?q=say+number").json()
        cases = next(scan for scan in page["looked"] if scan["what"] == "words in cases")
        hits = sum(hit["hit"]["kind"] == "case" for hit in page["hits"])
        return hits, [cases["looked_at"], cases["complete"]]

    monkeypatch.setattr(searching, "MOST_OF_A_KIND", 10**6)
    every, [looked_at, complete] = look()
    assert every > 2 and looked_at >= every and complete
    monkeypatch.setattr(searching, "MOST_OF_A_KIND", every)
    assert look() == (every, [looked_at, True])
    monkeypatch.setattr(searching, "MOST_OF_A_KIND", every - 1)
    assert look() == (every - 1, [looked_at, False])
    monkeypatch.setattr(searching, "_BYTES_LOOKED_AT", 1)
    assert look() == (0, [0, False])


def test_a_provider_request_id_is_found(
    client: httpx.Client, console_log: str, facts: dict[str, Any]
) -> None:
    assert facts["request"]
    with psycopg.connect(console_log) as connection:
        named = connection.execute(
            "SELECT notification_id FROM failproof.stored_events "
            "WHERE topic IN ('ResponseReceived', 'ErrorRecorded') "
            "AND convert_from(state, 'UTF8')::json ->> 'provider_request_id' = %s "
            "ORDER BY notification_id DESC LIMIT 20",
            (facts["request"],),
        ).fetchall()
    page = client.get("/search.json", params={"q": facts["request"]}).json()
    urls = {each["url"] for each in page["hits"] if each["hit"]["kind"] == "event"}
    assert urls == {f"/events/{position}" for (position,) in named}
    assert (page["only"] is not None) == (len(named) == 1)


@pytest.mark.parametrize(
    "query",
    [
        "", "   ", "%", "_", "\\", "'", '"', "<script>alert(1)</script>", "\u202eabc", "\x00",
        "a\x00b", "0", "-1", "9" * 18, "9" * 300, "0" * 64, "f" * 64, "case ",
        "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
        "run", "run x", "[", "(a+)+$", "\\u0000", "\U000e0041", "é", "event 99999999999999999999",
        "=1+1", "https://example.org/?a=b", "../../etc/passwd", "%s %b {}", "sha256:" + "0" * 64,
    ],
    ids=lambda query: repr(query)[:24],
)  # fmt: skip
@pytest.mark.thinned(fast=10, whole=32)
def test_no_query_breaks_the_page(client: httpx.Client, query: str) -> None:
    for path in ("/search", "/search.json"):
        found = client.get(path, params={"q": query})
        assert found.status_code in (200, 303, 400), found.text[:300]
        assert "<script>alert" not in found.text or path.endswith(".json")
        if path.endswith(".json") and found.status_code == 200:
            json.loads(found.text)


def test_what_is_too_long_or_unknown_is_refused(client: httpx.Client) -> None:
    assert client.get("/search", params={"q": "x" * 301}).status_code == 422
    assert client.get("/search?query=x").status_code == 422
    assert "Nothing is looked for yet" in client.get("/search").text
