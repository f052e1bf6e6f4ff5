"""What a page counts it counts up to a bound, says so beyond it, and misses nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from failproof_es.console import drawing, routes
from failproof_es.console.app import WARMING
from failproof_es.console.database import ReadOnlyDatabase
from failproof_es.console.follower import ProjectionUpdater
from failproof_es.console.pages import compare
from failproof_es.console.routes import SnapshotOpener
from failproof_es.engine.history import read_run
from failproof_es.engine.related_runs.runs_in_brief import read_runs_in_brief
from failproof_es.reading.overviews import asked_cases
from failproof_es.reading.overviews.run_comparison import Side
from failproof_es.store import ledger
from failproof_es.store.reading.reader import resolve_run
from failproof_es.store.store import Store
from projections.positions import begin_following
from projections.runner import prepare
from tests.acceptance.commands import invoke, mock_server, write_configuration, write_suite
from tests.console import console, settings_for
from tests.integration.store.test_experiments import begin, damaged


def walked(client: httpx.Client, path: str, limit: int) -> Iterator[dict[str, Any]]:
    """Every page of a list."""
    after = ""
    while True:
        page = client.get(f"{path}limit={limit}{after}").json()
        yield page
        if page["paging"]["next"] is None:
            return
        after = f"&after={page['paging']['next']}"


@pytest.mark.parametrize("more", [-1, 0])
def test_cases_are_counted_up_to_a_bound(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch, more: int
) -> None:
    total = client.get("/cases.json").json()["paging"]["total"]
    part = client.get("/cases.json?suite=language").json()["paging"]["matching"]
    assert 1 < part < total
    monkeypatch.setattr(asked_cases, "MOST_COUNTED", total + more)
    paging = client.get("/cases.json?suite=language").json()["paging"]
    html = client.get("/cases?suite=language").text
    assert (paging["matching"], paging["more_than"]) == (part, None)
    if more < 0:
        assert (paging["total"], paging["total_more_than"]) == (None, total - 1)
        assert f"more than {total - 1 - part} hidden by this filter" in html
        assert f"More than {total - 1} cases" in client.get("/cases").text
    else:
        assert (paging["total"], paging["total_more_than"]) == (total, None)
        assert f">{total - part} hidden by this filter" in html


def test_a_text_is_looked_for_among_a_few_cases_and_nothing_is_missed(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = client.get("/cases.json?text=3&limit=200").json()
    assert whole["looked_at"] is None and whole["paging"]["matching"] == len(whole["rows"]) > 1
    monkeypatch.setattr(asked_cases, "LOOKED_AT", 5)
    monkeypatch.setattr(asked_cases, "MOST_COUNTED", 3)
    for query in ("text=3&", "text=3&suite=language&"):
        pages = list(walked(client, f"/cases.json?{query}", 2))
        rows = [row for row in whole["rows"] if row["suite"] == "language" or "suite" not in query]
        assert [row for page in pages for row in page["rows"]] == rows
        assert any(page["looked_at"] == 5 for page in pages)
        assert pages[0]["paging"]["matching"] is None
    assert "among 5 cases from here on" in client.get("/cases?text=3").text
    assert "None among the 5 cases" in client.get("/cases?text=nowhere").text


def test_every_case_is_on_one_page_only(client: httpx.Client) -> None:
    for query in ("", "suite=language&"):
        whole = client.get(f"/cases.json?{query}limit=200").json()["rows"]
        pages = walked(client, f"/cases.json?{query}", 3)
        assert [row for page in pages for row in page["rows"]] == whole


@pytest.mark.parametrize("more", [-1, 0])
def test_cases_of_a_suite_are_counted_up_to_a_bound(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch, more: int
) -> None:
    before = {each["suite"]: each for each in client.get("/suites.json").json()["rows"]}
    suite, counted = max(before.items(), key=lambda each: each[1]["versions"])
    assert not counted["more"] and counted["first_position"]
    monkeypatch.setattr(asked_cases, "MOST_OF_SUITE", counted["versions"] + more)
    told = {each["suite"]: each for each in client.get("/suites.json").json()["rows"]}[suite]
    if more < 0:
        fewer = {"versions": counted["versions"] - 1, "more": True, "first_position": None}
        assert told == counted | fewer | {"cases": counted["cases"] - 1}
        assert f"at least {counted['versions'] - 1}" in client.get("/suites").text
    else:
        assert told == counted
        assert "at least" not in client.get("/suites").text


def test_suites_are_counted_up_to_a_bound_and_paged(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = client.get("/suites.json").json()["rows"]
    names = [each["suite"] for each in rows]
    assert len(names) > 1 and names == sorted(names)
    assert [row for page in walked(client, "/suites.json?", 1) for row in page["rows"]] == rows
    monkeypatch.setattr(asked_cases, "MOST_COUNTED", len(names) - 1)
    paging = client.get("/suites.json").json()["paging"]
    assert (paging["total"], paging["total_more_than"]) == (None, len(names) - 1)
    assert f"more than {len(names) - 1} suite" in client.get("/suites").text


@pytest.mark.parametrize("more", [-1, 0])
def test_rates_of_a_case_are_of_its_newest_evaluations(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch, more: int
) -> None:
    prompt = client.get("/cases.json").json()["rows"][0]["prompt_id"]
    path = f"/cases/{prompt}"
    whole = client.get(f"{path}.json?limit=200").json()
    times = whole["paging"]["total"]
    assert whole["newest"] is None and len(whole["rows"]) == times > 2
    positions = [each["last_position"] for each in whole["rows"]]
    assert positions == sorted(positions, reverse=True)
    pages = walked(client, f"{path}.json?", 2)
    assert [row for page in pages for row in page["rows"]] == whole["rows"]
    monkeypatch.setattr(asked_cases, "MOST_TIMES", times + more)
    page = client.get(f"{path}.json?limit=200").json()
    assert page["rows"] == whole["rows"]
    if more >= 0:
        assert page["models"] == whole["models"] and page["newest"] is None
        return
    assert (page["newest"], page["paging"]["more_than"]) == (times - 1, times - 1)
    newest = whole["rows"][:-1]
    assert {each["model"]: (each["evaluations"], each["passed"]["passed"])
            for each in page["models"]} == {
        model: (sum(row["model"] == model for row in newest),
                sum(row["model"] == model and row["passed"] is True for row in newest))
        for model in {row["model"] for row in newest}
    }  # fmt: skip
    assert f"Of the newest {times - 1} evaluations" in client.get(path).text


@pytest.mark.parametrize("more", [-1, 0])
def test_events_behind_are_counted_up_to_a_bound(console_log: str, more: int) -> None:
    with psycopg.connect(console_log) as connection:
        row = connection.execute(
            "SELECT count(*), max(notification_id) FROM failproof.stored_events"
        ).fetchone()
        assert row is not None
        count, head = row
        told = ledger.events_behind(connection, 0, count + more)
        assert told == ((head, False) if more < 0 else (count, True))
        assert ledger.events_behind(connection, head) == (0, True)


def test_a_bound_of_events_is_said_to_be_one(
    client: httpx.Client, console_log: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(console_log) as connection:
        monkeypatch.setattr(ledger, "last_tile", lambda connection: None)
        assert ledger.events_behind(connection).exact
    assert "at most" not in client.get("/ledger").text + client.get("/runs/1").text
    monkeypatch.setattr(ledger, "COUNTED_EXACTLY", 3)
    assert client.get("/ledger.json").json()["ledger"]["counted"] is False
    assert "at most" in client.get("/ledger").text
    assert client.get("/runs/1.json").json()["protection"]["counted"] is False
    assert "not anchored yet" in client.get("/runs/1").text.partition("at most")[2][:40]


def test_a_run_in_brief_is_what_its_whole_stream_says(console_log: str) -> None:
    with psycopg.connect(console_log) as connection:
        runs = [each for (each,) in connection.execute("SELECT run_id FROM failproof.run_list")]
        brief = read_runs_in_brief(connection, runs)
        whole = {each: read_run(connection, each) for each in runs}
    told = ("manifest", "status", "reason", "counts", "gates", "gates_met", "ended")
    for run in runs:
        found = brief[run]
        assert not isinstance(found, Exception)
        assert [getattr(found, name) for name in told] == [
            getattr(whole[run], name) for name in told
        ]
    assert {each.status for each in whole.values()} == {"completed"}


def test_a_damaged_attempt_is_listed_as_unreadable(store: Store, tmp_path: Path) -> None:
    def start() -> None:
        assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path).exit_code == 0

    write_suite(tmp_path, 2)
    with mock_server(latency_ms=0) as mock_url:
        write_configuration(tmp_path, mock_url)
        start()
        with store.connect() as connection:
            first = read_run(connection, resolve_run(connection, "1")).started
        bad = damaged(store, first, 2)
        start()
    with console(**settings_for(store.url)) as url:
        page = httpx.get(f"{url}/runs/1", timeout=60)
        found = httpx.get(f"{url}/runs/1.json", timeout=60).json()["attempts"]["others"]
        assert page.status_code == 200 and "unreadable" in page.text
        assert [each["status"] for each in found] == ["unreadable", "completed"]
        assert found[0]["run_id"] == str(bad) and found[0]["planned"] is None
        # The one before is damaged: the newest one before it that can be read is compared with.
        compared = httpx.get(f"{url}/compare.json?other=3", timeout=60).json()
        assert compared["base"]["run_number"] == 1
    shown = invoke(store.url, "show", "1", cwd=tmp_path)
    assert shown.exit_code == 0 and "unreadable" in shown.stdout
    assert "run 2 cannot be read" in shown.stderr
    written = invoke(store.url, "report", "1", "--format", "md", "-o", "-", cwd=tmp_path)
    assert written.exit_code == 0 and "unreadable" in written.stdout


def test_many_models_and_repetitions_are_compared_on_fewer_cases() -> None:
    def most(models: int, repetitions: int) -> int:
        side = Side(run_id=None, model="m", repetitions=repetitions)  # type: ignore[arg-type]
        return compare._most_cases([(side, side)] * models)

    assert most(1, 1) == most(0, 1) == most(2, 1) == 2_500
    assert (most(3, 1), most(2, 2), most(5, 50), most(100, 100)) == (1_666, 1_250, 20, 1)


def test_a_console_that_was_warmed_up_answers_as_any_other(
    console_log: str, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = threading.Event()
    monkeypatch.setattr(drawing, "prepare", prepared.set)
    with console(**settings_for(console_log), warm_up=True) as url:
        assert prepared.wait(60)
        assert httpx.get(f"{url}/runs.json").json() == client.get("/runs.json").json()
    assert all(each.name != WARMING for each in threading.enumerate())


def test_viewers_leave_the_projections_to_who_follows_the_log(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "FRESH_WITHIN_S", 60)
    database = ReadOnlyDatabase(store.url, connections=2, statement_timeout_s=10)
    follower = ProjectionUpdater(store.url)
    reading = SnapshotOpener(database, follower)

    def lag(left_s: float) -> int:
        with reading.moment(left_s) as (_, _, as_of):
            return as_of.lag

    with store.connect() as following:
        prepare(following)
        begin_following(following)
        begin(store, "a")
        assert lag(60) == 0  # nothing was built yet
        begin(store, "a")
        assert lag(60) > 0
        assert lag(1e-6) == 0  # too long ago
        begin(store, "a")
        assert lag(60) > 0
        assert lag(0) == 0  # a page
        begin(store, "a")
        assert lag(60) > 0
    deadline = time.monotonic() + 30
    while lag(60) > 0:  # until the server knows that nobody follows any more
        assert time.monotonic() < deadline
    follower.close()
    database.close()
