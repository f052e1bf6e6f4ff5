"""Of large runs pages count less, and say so: what they do tell is what they tell of small ones."""

from __future__ import annotations

import json
import re
from itertools import cycle
from typing import Any

import httpx
import psycopg
import pytest

from failproof_es.console.pages import compare, run
from failproof_es.reading import chosen_results
from failproof_es.reading.overviews import compared_runs, counted_results, distributions
from tests.integration.console.test_results import rows_of

COUNTED = (
    "", "status=failed", "status=passed", "status=lost", "status=abandoned", "status=unscored",
    "status=unfinished", "model=openai:mock", "suite=language", "category=hard", "class=refusal",
    "suite=arithmetic&category=hard", "status=failed&suite=language", "suite=nowhere",
    "class=refusal&suite=language", "status=lost&suite=language",
)  # fmt: skip
NOT_COUNTED = (
    "text=number", "requests=2", "error=http_500", "latency=0-500",
    "status=failed&class=refusal", "text=nobody+says+this",
)  # fmt: skip


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run is large."""
    monkeypatch.setattr(counted_results, "LARGE", 0)
    monkeypatch.setattr(distributions, "LARGE", 0)


def numbers(client: httpx.Client, query: str) -> dict[str, Any]:
    page: dict[str, Any] = client.get(f"/runs/1/results.json?limit=200&{query}").json()
    return {
        "matching": page["paging"]["matching"], "total": page["paging"]["total"],
        "unfinished": page["unfinished"], "newer": page["newer"],
        "rows": {row["evaluation_id"] for row in page["rows"]},  # in another order
    }  # fmt: skip


@pytest.mark.slow
def test_counters_tell_what_rows_tell(client: httpx.Client, console_log: str) -> None:
    """Of each filter, in turn of all results and of those before one."""
    positions = sorted(row["last_position"] for row in rows_of(console_log, 1))
    before = f"&up_to={positions[len(positions) // 2]}"
    for query, moment in zip([*COUNTED, *NOT_COUNTED], cycle((before, ""))):
        by_rows = numbers(client, query + moment)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(counted_results, "LARGE", 0)
            stored = numbers(client, query + moment)
        if query in NOT_COUNTED:
            assert stored["matching"] is None, query
            stored["matching"] = by_rows["matching"]
        assert stored == by_rows, query + moment


@pytest.mark.usefixtures("large")
def test_the_facets_of_a_large_run_have_the_counts_that_are_kept(client: httpx.Client) -> None:
    page = client.get("/runs/1/results.json?limit=200").json()
    assert page["counted"] is False
    states = [row["state"] for row in page["rows"]]
    [status] = [each for each in page["facets"] if each["name"] == "status"]
    assert {each["value"]: each["results"] for each in status["values"]} == {
        state: states.count(state) for state in states
    }


def offered(client: httpx.Client, query: str) -> dict[str, dict[str | None, int | None]]:
    page = client.get(f"/runs/1/results.json?limit=1&{query}").json()
    return {
        facet["name"]: {each["value"]: each["results"] for each in facet["values"]}
        for facet in page["facets"]
    }


@pytest.mark.parametrize(
    "query",
    [
        "", "status=failed", "status=lost", "status=abandoned", "model=openai:mock",
        "suite=language&category=hard", "class=refusal&suite=arithmetic", "suite=nowhere",
        "status=passed&suite=language", "error=http_500", "text=number+1&status=failed",
    ],
)  # fmt: skip
def test_what_a_facet_of_a_large_run_counts_is_what_its_rows_count(
    client: httpx.Client, console_log: str, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    positions = sorted(row["last_position"] for row in rows_of(console_log, 1))
    for moment in ("", f"&up_to={positions[len(positions) // 2]}"):
        monkeypatch.setattr(counted_results, "LARGE", 5_000)
        rows = offered(client, query + moment)
        monkeypatch.setattr(counted_results, "LARGE", 0)
        stored = offered(client, query + moment)
        counted = 0
        for name, values in stored.items():
            known = rows.get(name, {})
            assert {value for value, n in known.items() if n} <= set(values), name
            for value, results in values.items():
                if results is not None:
                    counted += 1
                    assert results == known.get(value, 0), (name, value)
        assert {"latency", "requests", "error"} <= set(stored)
        assert bool(counted) == (query not in ("error=http_500", "text=number+1&status=failed"))


@pytest.mark.usefixtures("large")
def test_kinds_of_errors_of_a_large_run_can_be_chosen_and_are_said_to_be_not_counted(
    client: httpx.Client, console_log: str
) -> None:
    kinds = {row["error_kind"] for row in rows_of(console_log, 1)} - {None}
    assert kinds and kinds <= set(offered(client, "")["error"])
    for kind in kinds:
        page = client.get("/runs/1/results.json?limit=200", params={"error": kind}).json()
        assert page["rows"] and {row["error_kind"] for row in page["rows"]} == {kind}
    assert "not counted" in client.get("/runs/1/results").text


@pytest.mark.parametrize("query", ["text=number+1", "requests=2", "suite=language&status=passed"])
def test_what_is_rare_is_looked_for_among_a_few_and_nothing_is_missed(
    client: httpx.Client, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = client.get(f"/runs/1/results.json?limit=200&{query}").json()
    assert whole["looked_at"] is None and whole["paging"]["next"] is None
    for name in ("LOOKED_AT", "LOOKED_INTO"):
        monkeypatch.setattr(chosen_results, name, 5)
    found: list[dict[str, Any]] = []
    after, stopped = "", 0
    while True:
        page = client.get(f"/runs/1/results.json?limit=3&{query}{after}").json()
        html = client.get(f"/runs/1/results?limit=3&{query}{after}").text
        assert ("among 5 results from here on" in html) == (page["looked_at"] == 5)
        found += page["rows"]
        stopped += page["looked_at"] is not None
        if page["paging"]["next"] is None:
            break
        after = f"&after={page['paging']['next']}"
    assert found == whole["rows"] and found
    assert stopped


def test_charts_of_a_large_run_are_of_some_of_it_and_say_so(
    client: httpx.Client, console_log: str, large: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distributions, "DRAWN", 12)
    page = client.get("/runs/1/charts.json").json()
    assert page["drawn"] == 12
    with psycopg.connect(console_log) as connection:
        row = connection.execute(
            "WITH first AS (SELECT prompt_id FROM projections.planned_cases JOIN projections.runs "
            "USING (run_id) WHERE run_number = 1 ORDER BY prompt_id LIMIT 6) "
            "SELECT count(latency_ms), count(*) FILTER (WHERE finished_at IS NOT NULL) "
            "FROM projections.evaluations JOIN first USING (prompt_id) JOIN projections.runs "
            "USING (run_id) WHERE run_number = 1"
        ).fetchone()
    assert row == (
        sum(each["answers"] for each in page["spreads"]),
        sum(each["points"][-1][1] for each in page["progress"]),
    )
    assert "drawn from 12 planned evaluations" in client.get("/runs/1/charts").text


def test_a_comparison_of_many_cases_is_of_some_and_says_so(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "/compare{}?base=1&other=2&show=all"
    whole = client.get(url.format(".json")).json()
    assert whole["compared_cases"] == whole["same_cases"]
    every = client.get(url.format(".jsonl")).text
    monkeypatch.setattr(compare, "MOST_PAIRED", 9)
    page = client.get(url.format(".json")).json()
    assert page["compared_cases"] == 9 < page["same_cases"] == whole["same_cases"]
    assert 0 < page["paging"]["total"] <= 9
    pairs = [json.loads(line) for line in every.splitlines()]
    first = sorted({each["prompt_id"] for each in pairs})[:9]
    told = page["models"][0]
    assert told["both_passed"] + told["worse"] == sum(
        each["base_passed"] for each in pairs if each["prompt_id"] in first
    )
    assert client.get(url.format(".jsonl")).text == every
    monkeypatch.setattr(compared_runs, "_AT_ONCE", 5)
    portions = client.get(url.format(".jsonl")).text
    assert portions != every and sorted(portions.splitlines()) == sorted(every.splitlines())
    assert "9 of 24 are compared" in client.get(url.format("")).text


def test_messages_that_a_page_does_not_name_are_counted(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shape() -> str:
        [found] = re.findall(r' data-shape="([0-9a-f]+)"', client.get("/runs/1").text)
        return str(found)

    whole, before = client.get("/runs/1.json").json(), shape()
    assert len(whole["errors"]) > 1 and whole["more_errors"] == 0
    monkeypatch.setattr(run, "MOST_MESSAGES", 1)
    page = client.get("/runs/1.json").json()
    assert page["errors"][0]["requests"] == whole["errors"][0]["requests"]
    assert page["more_errors"] == len(whole["errors"]) - 1
    assert shape() == before
