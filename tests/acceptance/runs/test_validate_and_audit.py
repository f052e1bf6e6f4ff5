"""Before a run and beside it: what stands against it, what it would ask, what was done about it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import Result

from failproof_es.store.reading.reader import find
from failproof_es.store.store import Store
from tests.acceptance.commands import (
    asked,
    invoke,
    mock_server,
    write_configuration,
    write_suite,
)

PRICES = {
    "version": "2026-11-21",
    "models": [{"model": "mock", "input_usd_per_million": 1, "output_usd_per_million": 10}],
}


def audit(store: Store, run: str, folder: Path) -> list[dict[str, Any]]:
    done = invoke(store.url, "audit", run, "--format", "jsonl", cwd=folder)
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


def events(store: Store) -> list[str]:
    with store.connect() as connection:
        return [row.topic for row in find(connection)]


def validated(store: Store, folder: Path, *arguments: str) -> Result:
    return invoke(store.url, *arguments, cwd=folder)


def test_validate_counts_what_a_run_would_ask_and_asks_and_stores_nothing(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    write_suite(tmp_path, 20)
    execution = {"repetitions": 3}
    write_configuration(tmp_path, mock_url, execution=execution, prices=PRICES)
    before = asked(mock_url)
    for arguments in (
        ("validate", "run.yaml", "--json"),
        ("start", "run.yaml", "--dry-run", "--json"),
    ):
        done = validated(store, tmp_path, *arguments)
        assert done.exit_code == 0, done.output
        found = json.loads(done.stdout)
        assert (found["cases"], found["evaluations"], found["requests"]) == (20, 60, 60)
        [model] = found["models"]
        assert model["priced_by"] == "price list of 2026-11-21"
        least, most = model["cost_usd"]
        longest = model["characters"] / 2 / 1e6 + 60 * 1000 * 10 / 1e6
        assert 0 < least < most == pytest.approx(longest, abs=60 / 1e6)  # whole tokens
    assert asked(mock_url) == before
    assert events(store) == []
    configuration = json.loads((tmp_path / "run.yaml").read_bytes())
    configuration["models"] *= 2
    (tmp_path / "run.yaml").write_text(json.dumps(configuration))
    table = validated(store, tmp_path, "validate", "run.yaml")
    assert "Ready to run: 20 cases" in table.stdout
    total = next(line.split() for line in table.stdout.splitlines() if "total" in line)
    assert (total[0], total[1], total[-1]) == ("total", "120", "-")


def test_an_unknown_price_is_unknown_in_the_estimate_too(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    write_suite(tmp_path, 1)
    write_configuration(tmp_path, mock_url)
    done = validated(store, tmp_path, "validate", "run.yaml")
    assert "unknown" in done.stdout and "The cost is" not in done.stdout
    assert "total" not in done.stdout, "there is one model"
    assert "no price is known for mock: `prices: {version: YYYY-MM-DD, models: [{" in done.stderr


def test_everything_that_is_wrong_is_said_at_once_and_is_on_record(
    store: Store, tmp_path: Path
) -> None:
    (tmp_path / "suite.jsonl").write_text('{"case_id": 5}\n{"case_id": ')
    write_configuration(tmp_path, "http://127.0.0.1:9/v1", prompts={
        "path": "suite.jsonl", "dialect": "failproof"})  # fmt: skip
    run_id = "5e0c6a4e-5a43-4a3c-9b21-8d0e4a7c1f00"
    configuration = orjson.loads((tmp_path / "run.yaml").read_bytes())
    configuration["test_run"]["id"] = run_id
    (tmp_path / "run.yaml").write_bytes(orjson.dumps(configuration))
    for command in ("validate", "start"):
        done = validated(store, tmp_path, command, "run.yaml")
        assert done.exit_code == 2
        for words in ("suite.jsonl:1", "suite.jsonl:2", "[server-unreachable]"):
            assert words in done.stderr, done.stderr
    trail = audit(store, run_id, tmp_path)
    assert [record["event"] for record in trail] == [
        "ConfigurationResolved", "ValidationStarted", "ValidationFailed",
    ]  # fmt: skip
    assert all(record["test_run_id"] == run_id for record in trail)
    said = "\n".join(trail[-1]["details"]["problems"])
    assert "suite.jsonl:1" in said and "[server-unreachable]" in said
    assert trail[-1]["details"]["who"]


def test_a_judge_that_is_wanted_and_not_there_is_missed_before_anything_is_sent(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    (tmp_path / "suite.jsonl").write_bytes(orjson.dumps({"task_id": "a", "prompt": "Say a."}))
    prompts = {"path": "suite.jsonl", "dialect": "benchmark"}
    write_configuration(tmp_path, mock_url, prompts=prompts)
    done = validated(store, tmp_path, "start", "run.yaml")
    assert done.exit_code == 2 and "judge: " in done.stderr and "[no-judge]" in done.stderr, (
        done.output
    )
    assert "RequestSent" not in events(store)


def test_the_audit_trail_tells_a_run_from_its_configuration_to_its_files(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    write_suite(tmp_path, 12)
    output = {"file": {"path": "out/{timestamp}_{test_name}.jsonl", "checkpoint_every": 5}}
    write_configuration(tmp_path, mock_url, output=output, execution={"parallel_workers": 4})
    assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path).exit_code == 0
    trail = audit(store, "latest", tmp_path)
    assert [set(record) for record in trail] == [
        {"event", "timestamp", "test_run_id", "details"}
    ] * len(trail)
    named = [record["event"] for record in trail if record["event"] != "FileWritten"]
    assert named == [
        "ConfigurationResolved", "ValidationStarted", "ValidationPassed", "RunStarted",
        "PricesRecorded", "RunCompleted", "RunValidated", "RunSealed",
    ]  # fmt: skip
    files = [record["details"] for record in trail if record["event"] == "FileWritten"]
    assert sorted(file["kind"] for file in files) == ["checkpoint", "checkpoint", "results"]
    for file in files:
        assert Path(file["path"]).stat().st_size == file["bytes"]
    [passed] = [each["details"] for each in trail if each["event"] == "ValidationPassed"]
    assert passed["estimate"]["requests"] == 12
    shown = invoke(store.url, "audit", "latest", cwd=tmp_path).stdout
    assert "FileWritten" in shown and "\x1b" not in shown
    assert invoke(store.url, "verify", cwd=tmp_path).exit_code == 0


WHY: dict[str, Callable[[dict[str, Any]], Any]] = {
    **dict.fromkeys(("RunStarted", "RunResumed"), lambda details: bool(details["who"])),
    **dict.fromkeys(("ErrorRecorded", "EvaluationAbandoned"), lambda details: details["kind"]),
    **dict.fromkeys(("LimitChanged", "RunPaused"), lambda details: details["reason"]),
    **dict.fromkeys(
        ("PricesRecorded", "RunCompleted", "RunValidated", "RunSealed"), lambda details: None
    ),
    "RetrySent": lambda details: details["attempt"],
}
"""What the trail says of why, who, or for which time, by event."""


def test_the_trail_tells_every_retry_limit_and_pause_and_who_went_on(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    faults = ("http500*1", "http429*1", "http401*1", "http400")
    cases = [
        {"case_id": fault, "suite_id": "s", "prompt": f"audited [fault:{fault}]",
         "expected_response": "audited"}
        for fault in faults
    ]  # fmt: skip
    (tmp_path / "suite.jsonl").write_bytes(b"\n".join(map(orjson.dumps, cases)))
    write_configuration(tmp_path, mock_url, execution={"parallel_workers": 1, "retry_delay_ms": 1})
    assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path).exit_code == 1
    for file in ("run.yaml", "suite.jsonl"):  # what was started is on record, files and all
        (tmp_path / file).unlink()
    assert invoke(store.url, "resume", "latest", "--quiet", cwd=tmp_path).exit_code == 3
    trail = audit(store, "latest", tmp_path)
    told = [record for record in trail if record["event"] != "FileWritten"]
    lived = told[[record["event"] for record in told].index("RunStarted") :]
    said = [(record["event"], WHY[record["event"]](record["details"])) for record in lived]
    said[6:8] = sorted(said[6:8])  # the limit is told beside the request that it lets go
    assert said == [
        ("RunStarted", True), ("PricesRecorded", None),
        ("ErrorRecorded", "server_error"), ("RetrySent", 2),
        ("ErrorRecorded", "rate_limited"), ("LimitChanged", "rate_limited"),
        ("LimitChanged", "released"), ("RetrySent", 2),
        ("ErrorRecorded", "authentication"), ("RunPaused", "mock: HTTP 401: wrong key"),
        ("RunResumed", True), ("RetrySent", 2),
        ("ErrorRecorded", "bad_request"), ("EvaluationAbandoned", "bad_request"),
        ("RunCompleted", None), ("RunValidated", None), ("RunSealed", None),
    ]  # fmt: skip
    times = [record["timestamp"] for record in trail]
    assert times == sorted(times)


def test_that_a_run_could_not_be_taken_up_again_is_in_its_trail(
    store: Store, tmp_path: Path
) -> None:
    write_suite(tmp_path, 1, prompt="Refused {n} [fault:http401]")
    with mock_server(latency_ms=0) as url:
        write_configuration(tmp_path, url)
        assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path).exit_code == 1
    refused = invoke(store.url, "resume", "latest", "--quiet", cwd=tmp_path)
    assert refused.exit_code == 2 and "on record: `failproof-es audit" in refused.stderr
    trail = audit(store, "latest", tmp_path)
    assert [record["event"] for record in trail][-2:] == ["RunPaused", "ValidationFailed"]
    assert (
        "cannot be reached" in trail[-1]["details"]["problems"][0] and trail[-1]["details"]["who"]
    )
