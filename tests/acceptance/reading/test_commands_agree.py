"""Of a run in which much goes wrong every command says the same, in the same words."""

from __future__ import annotations

import re
import time
from datetime import timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import orjson
import psycopg
import pytest

from failproof_es.assurance.checking import recorded_times
from failproof_es.events import PricesRecorded
from failproof_es.models.catalog.prices import PriceBook
from failproof_es.store.store import Store
from tests.acceptance.commands import begin, invoke, kill_group, write_configuration
from tests.acceptance.runs.test_gates import PRICE, model

ALIKE = (
    "planned", "finished", "scored", "passed", "failed", "abandoned", "lost", "awaiting_review",
)  # fmt: skip
PRICES = {
    "version": "2026-11-01",
    "models": [{"model": "mock", **PRICE}, {"model": "silent", **PRICE}],
}


def write_cases(folder: Path, *cases: dict[str, Any]) -> None:
    whole = ({"suite_id": "s", "case_id": f"case-{n}", **case} for n, case in enumerate(cases))
    (folder / "suite.jsonl").write_bytes(b"\n".join(map(orjson.dumps, whole)))


MIXED = (
    {"prompt": "Say number 0", "expected_response": "number 0"},
    {"prompt": "Say number 1", "expected_response": "something else"},
    {
        "prompt": "Say number 2",
        "expected_response": "something else",
        "expected_classification": "fail",
    },
    {"prompt": "Say [fault:http500*1] number 3", "expected_response": "number 3"},
    {"prompt": "Say [fault:http500] number 4", "expected_response": "number 4"},
    {"prompt": "Say [fault:length] number 5", "expected_response": "number 5"},
    {"prompt": "Say [fault:length] number 6", "expected_response": "number 6"},
)
"""Two pass, one of them because it was to fail; after one failed attempt a third. One is a
failure, one is lost, two are cut off."""


def mixed(folder: Path, mock_url: str, **more: Any) -> None:
    """A run of that by a model that tells its tokens, and by one that never does."""
    write_cases(folder, *MIXED)
    models = [
        {"provider": "openai", "base_url": mock_url, "model": "mock"},
        model("silent", [1, 2], breaks_at=[4]),
    ]
    sections = {"gates": {"max_unscored_rate": 0.5}, "prices": PRICES} | more
    write_configuration(folder, mock_url, models=models, **sections)


def last(text: str) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(text.splitlines()[-1])
    return found


def shown(store: Store, folder: Path, run_number: object = 1) -> dict[str, Any]:
    return last(invoke(store.url, "show", run_number, "--format", "jsonl", cwd=folder).stdout)


def require_alike(details: dict[str, Any], facts: dict[str, Any]) -> None:
    """The last line of progress says what `show` says."""
    counts = facts["counts"]
    assert {name: details[name] for name in ALIKE} == {name: counts[name] for name in ALIKE}
    spending = facts["spending"]
    assert details["cost_usd"] == spending["cost_usd"]
    assert details["tokens"] == {
        name: spending[f"{kind}_tokens{part}"]
        for kind in ("input", "output")
        for name, part in ((kind, ""), (f"{kind}_unknown", "_unknown"))
    }
    failed = sum(each["requests"] for each in facts["errors"])
    assert details["failed_requests"] == counts["failed_requests"] == failed
    assert sum(row["retries"] for row in details["models"]) == counts["retries"]
    by_model = {row["model"]: row for row in facts["by_model"]}
    for row in details["models"]:
        of = by_model[row["model"]]
        for name in ALIKE[1:]:
            assert row[name] == of["counts"][name], (row["model"], name)


def test_the_live_display_ends_with_the_numbers_of_the_summary_and_results_have_pages(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    mixed(tmp_path, mock_url)
    done = invoke(store.url, "start", "run.yaml", "--json", cwd=tmp_path)
    assert done.exit_code == 0, done.stderr
    assert "asks all models only the cases that failed; with `--model KEY` one model" in done.stderr
    progress = [line for line in done.stderr.splitlines() if line.startswith('{"event"')]
    facts = shown(store, tmp_path)
    details = orjson.loads(progress[-1])["details"]
    require_alike(details, facts)
    counts = facts["counts"]
    expected = {
        "planned": 14, "finished": 14, "scored": 10, "passed": None, "failed": None, "abandoned": 4,
        "lost": 2, "awaiting_review": 0, "carried_over": 0, "in_flight": 0,
    }  # fmt: skip
    assert {name: counts[name] for name in expected} == expected
    silent = next(row for row in details["models"] if row["model"] == "silent")
    assert (silent["tokens"]["input"], silent["tokens"]["input_unknown"]) == (None, 6)
    assert silent["cost_usd"] is None and facts["spending"]["cost_usd"] is None
    assert facts["spending"]["input_tokens"] > 0 and facts["spending"]["input_tokens_unknown"] == 6
    assert (done.stdout.splitlines()[-1].count('"abandoned":4'), counts["retries"]) == (1, 5)
    assert set(facts["accuracy"].values()) == {None}, "of several models there is no one number"
    found = {row["model"]: row["accuracy"]["by_case"] for row in facts["by_model"]}
    assert found == {"mock": 0.75, "silent": pytest.approx(5 / 6)}
    require_pages(store, tmp_path)
    require_refused_pages(store, tmp_path)


@pytest.mark.slow
def test_a_run_that_was_killed_and_resumed_says_live_what_its_summary_says(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    mixed(tmp_path, mock_url, execution={"parallel_workers": 1, "retry_delay_ms": 400})
    process = begin(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path)
    with psycopg.connect(store.url, autocommit=True) as connection:
        seen = "SELECT count(*) FROM failproof.event_log WHERE event_type = 'ErrorRecorded'"
        while connection.execute(seen).fetchone() == (0,):
            assert process.poll() is None
            time.sleep(0.05)
    kill_group(process)
    done = invoke(store.url, "resume", 1, "--json", cwd=tmp_path)
    assert done.exit_code == 0, done.output
    progress = [line for line in done.stderr.splitlines() if line.startswith('{"event"')]
    require_alike(orjson.loads(progress[-1])["details"], shown(store, tmp_path))


def test_the_table_at_the_end_show_and_runs_use_one_word_for_each_thing(
    store: Store, mock_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mixed(tmp_path, mock_url)
    done = invoke(store.url, "start", "run.yaml", "-v", cwd=tmp_path)
    totals = [line.split() for line in done.stdout.splitlines() if " total " in line]
    assert [(row[0], row[-11:-9], row[-5:]) for row in totals] == [
        ("mock", ["3", "1"], ["42.9", "%", "to", "85.7", "%"]),
        ("silent", ["5", "1"], ["71.4", "%", "to", "85.7", "%"]),
    ]
    assert (
        "4 evaluations were abandoned, 2 of them without a usable answer: `failproof-es resume 1"
        in done.stderr
    )
    assert "mock: 7 of 7, 3 passed, 0 refused, 3 (42.9 %) unscored, 1 lost" in done.stderr
    monkeypatch.setattr(recorded_times, "APART", timedelta())
    text = invoke(store.url, "show", 1, cwd=tmp_path).stdout
    assert "by its signed time, and was recorded at" in text
    said = "2 lost, no usable answer of the model; 2 cut off at max_tokens"
    assert f"10 scored, 4 abandoned ({said})" in text
    assert re.search(r"^failed requests +\d+ \(", text, re.MULTILINE)
    (listed,) = orjson.loads(invoke(store.url, "runs", "--json", cwd=tmp_path).stdout)
    assert [(row["model"], row["passed"], row["failed"]) for row in listed["passed"]] == [
        ("mock", 3, 1),
        ("silent", 5, 1),
    ]
    junit = invoke(store.url, "results", 1, "--junit", "out.xml", cwd=tmp_path)
    assert junit.exit_code == 0
    (suite,) = ET.parse(tmp_path / "out.xml").findall("./testsuite[@name='s']")
    assert (suite.get("failures"), suite.get("errors")) == ("2", "4")


def test_what_a_run_cost_stays_what_its_recorded_prices_make_it(
    store: Store, mock_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_cases(tmp_path, *MIXED[:3])
    gates = {"max_cost_usd": 1.0}
    write_configuration(tmp_path, mock_url, prices=PRICES, gates=gates)
    assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path).exit_code == 0
    with psycopg.connect(store.url) as connection:
        (tokens,) = connection.execute(
            "SELECT sum((payload #>> '{usage,input_tokens}')::int + "
            "(payload #>> '{usage,output_tokens}')::int) FROM failproof.event_log "
            "WHERE event_type = 'ResponseReceived'"
        ).fetchone() or (0,)
    paid = pytest.approx(tokens / 1e6)

    def other(*_: object) -> PricesRecorded:
        raise AssertionError("a price was looked up for a run that has its own")

    monkeypatch.setattr(PriceBook, "prices", other)
    facts = shown(store, tmp_path)
    assert (
        facts["spending"]["cost_usd"] == paid and facts["gates"]["max_cost_usd"]["measured"] == paid
    )
    (listed,) = orjson.loads(invoke(store.url, "runs", "--json", cwd=tmp_path).stdout)
    assert listed["cost_usd"] == paid
    reported = invoke(store.url, "report", 1, "--format", "json", "-o", "-", cwd=tmp_path)
    assert reported.exit_code == 0, reported.output
    assert sum(each["cost_usd"] for each in orjson.loads(reported.stdout)["costs"]) == paid


def test_show_and_results_tell_how_a_run_stood(store: Store, mock_url: str, tmp_path: Path) -> None:
    write_cases(tmp_path, *MIXED[:3])
    write_configuration(tmp_path, mock_url, execution={"parallel_workers": 1})
    invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path)
    with psycopg.connect(store.url) as connection:
        positions = connection.execute(
            "SELECT position FROM failproof.event_log WHERE event_type = 'Scored' ORDER BY 1"
        ).fetchall()
    first = positions[0][0]
    then = orjson.loads(
        invoke(store.url, "show", 1, "--as-of", first, "--json", cwd=tmp_path).stdout
    )
    assert (then["as_of"]["events_up_to"], then["counts"]["finished"], then["status"]) == (
        first,
        1,
        "running",
    )
    rows = invoke(
        store.url, "results", 1, "--as-of", first, "--format", "jsonl", cwd=tmp_path
    ).stdout.splitlines()
    scored = [row for row in map(orjson.loads, rows) if row["scores"]["accuracy"] is not None]
    assert len(scored) == 1
    for command in ("show", "results"):
        done = invoke(store.url, command, 1, "--as-of", "soon", cwd=tmp_path)
        assert done.exit_code == 2 and "[invalid-option]" in done.stderr
        done = invoke(store.url, command, 1, "--as-of", 1, cwd=tmp_path)
        assert done.exit_code == 2 and "[run-not-begun]" in done.stderr


def pages(store: Store, folder: Path, *arguments: object) -> tuple[list[str], str]:
    done = invoke(store.url, "results", 1, *arguments, "--format", "jsonl", cwd=folder)
    assert done.exit_code == 0, done.output
    return done.stdout.splitlines(), done.stderr


def require_pages(store: Store, folder: Path) -> None:
    """Results come in pages that add up to all."""
    whole, _ = pages(store, folder)
    first, told = pages(store, folder, "--limit", 5)
    command = "failproof-es results 1 --limit 5 --after 5 --format jsonl"
    assert f"9 more: `{command}`" in told
    left_out = {"why": "limit", "results": 9, "command": command}
    assert orjson.loads(first.pop()) == {"left_out": [left_out]}
    second, told = pages(store, folder, "--limit", 5, "--after", 5)
    assert "4 more: `failproof-es results 1 --limit 5 --after 10 --format jsonl`" in told
    assert orjson.loads(second.pop())["left_out"][0]["results"] == 4
    third, told = pages(store, folder, "--limit", 5, "--after", 10)
    assert " more: " not in told
    assert [*first, *second, *third] == whole and len(whole) == 14
    assert pages(store, folder, "--after", 12)[0] == whole[12:]
    assert pages(store, folder, "--after", 14) == ([], "")
    ended = invoke(store.url, "results", 1, "--after", 14, cwd=folder)
    assert ended.stderr == (
        "14 is the last place in the plan; print all results: `failproof-es results 1`\n"
    )
    table = invoke(store.url, "results", 1, "--limit", 2, "--after", 1, cwd=folder).stdout
    assert re.findall(r"case-\d+", table) == ["case-0", "case-1"]


REFUSED: tuple[tuple[tuple[object, ...], str], ...] = (
    (("--after", 15), "the plan of run 1 has no place 15 (its last place is 14)"),
    (("--after", 0), "0 is not in the range"),
    (("--limit", 0), "0 is not in the range"),
    (("--limit", "some"), "'some' is not a valid integer"),
    (("--limit", 1, "--junit", "out.xml"), "JUnit XML covers the whole run"),
)


def require_refused_pages(store: Store, folder: Path) -> None:
    for arguments, said in REFUSED:
        done = invoke(store.url, "results", 1, *arguments, cwd=folder)
        assert (done.exit_code, done.stdout) == (2, ""), (arguments, done.output)
        assert said in done.stderr, arguments
    assert not (folder / "out.xml").exists()
