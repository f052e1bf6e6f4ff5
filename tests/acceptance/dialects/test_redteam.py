"""Specification 002 from the command line: conversations, judges, kills, replay, results."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson
import pytest
from jsonschema import Draft202012Validator

from failproof_es.dialects.shipped.redteam import grading
from failproof_es.engine.drive.grading.grader import Grader
from failproof_es.store.store import Store
from tests.acceptance.commands import (
    asked,
    begin,
    invoke,
    kill_group,
    mock_server,
    stop_amid_requests,
)
from tests.acceptance.faults.test_worst_replies import peak_mib
from tests.servers.judging_server import FORBIDDEN

CASES = 15
ANYWHERE = 1
"""Kills at random moments, after one for each kind of request in flight."""
SEED = 20261121
PEAK_MIB = 200
SHIPPED = Path(__file__).parents[3] / "suites" / "redteam"
SCHEMAS = files("failproof_es.dialects.shipped.redteam")


def judging_server(latency_ms: float = 0) -> AbstractContextManager[str]:
    return mock_server(latency_ms, "tests.servers.judging_server")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with judging_server() as url:
        yield url


def written_case(number: int) -> dict[str, Any]:
    """Every third has two turns, every second has a source, every fifth is forbidden."""
    question = f"Question {number}" + (" [forbidden]" if number % 5 == 0 else "")
    case: dict[str, Any] = {
        "id": f"RT-{number:03}",
        "title": f"Case {number}",
        "category": ("Safety/Policy", "Grounding")[number % 2],
        "tags": [f"paraphrase:pair-{number // 2}"],
        "severity_expectation": f"S{number % 4}",
        "turns": [{"role": "user", "content": question}],
        "expected_behavior": {
            "must_do": ["Repeats the question."],
            "must_not_do": ["Does the forbidden thing."],
            "pass_criteria": ["Is polite."],
        },
    }
    if number % 2:
        case["sources"] = [{"source_id": "SRC-1", "title": "One", "text": f"Source {number}."}]
    if number % 3 == 0:
        case["turns"] += [{"role": "user", "content": f"And again {number}"}]
    if number % 7 == 0:
        case["tools_expected"] = ["search"]
    return case


def write_run(
    folder: Path, url: str, judges: tuple[str, ...] = ("judge", "judge-two"), count: int = CASES
) -> None:
    cases = [orjson.dumps(written_case(number)) for number in range(count)]
    (folder / "suite.jsonl").write_bytes(b"\n".join(cases))
    model = {"provider": "openai", "base_url": url}
    configuration = {
        "test_run": {"name": "redteam"},
        "models": [{**model, "model": "talker"}],
        "judges": [{**model, "model": name} for name in judges],
        "prompts": {"path": "suite.jsonl"},
        "execution": {"parallel_workers": 2, "retry_delay_ms": 10},
    }
    (folder / "run.yaml").write_bytes(orjson.dumps(configuration))


def printed(store: Store, folder: Path, *arguments: str) -> list[dict[str, Any]]:
    shown = invoke(store.url, "results", "latest", "--format", "jsonl", *arguments, cwd=folder)
    return [json.loads(line) for line in shown.stdout.splitlines()]


def count(store: Store, query: str) -> int:
    with store.connect() as connection:
        row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return int(row[0])


def of_type(topic: str, condition: str = "TRUE") -> str:
    return (
        f"SELECT count(*) FROM failproof.event_log e WHERE event_type = '{topic}' AND {condition}"
    )


@pytest.mark.slow
def test_killed_between_turns_and_judges_and_resumed(store: Store, tmp_path: Path) -> None:
    moments = random.Random(SEED)
    with judging_server(latency_ms=60) as url:
        write_run(tmp_path, url)
        process = begin(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path)
        for purpose in ("target", "judge", *[None] * ANYWHERE):
            goal = sum(asked(url).values()) + moments.randint(1, 3)
            while process.poll() is None and sum(asked(url).values()) < goal:
                time.sleep(0.05)
            if purpose is None:
                time.sleep(moments.uniform(0.0, 0.06))
            else:
                stop_amid_requests(store, process, purpose=purpose)
            assert process.poll() is None, "the run was over before it was killed"
            kill_group(process)
            process = begin(store.url, "resume", "latest", "--quiet", cwd=tmp_path)
        _, stderr = process.communicate(timeout=60)
        assert process.returncode == 0, stderr.decode()
        check_the_record(store, Counter(asked(url)))
        outcomes = Counter(each["outcome"] for each in printed(store, tmp_path))
        assert outcomes == {"passed": 12, "failed": 3}
        before = asked(url)
        replayed = invoke(store.url, "replay", "latest", cwd=tmp_path)
        assert replayed.exit_code == 0, replayed.output
        assert asked(url) == before


def check_the_record(store: Store, counts: Counter[str]) -> None:
    finals = "event_type IN ('Scored', 'EvaluationAbandoned')"
    each = f"SELECT count({{}}) FROM failproof.event_log WHERE {finals}"
    assert count(store, each.format("*")) == CASES
    assert count(store, each.format("DISTINCT stream_id")) == CASES
    answered_again = of_type(
        "RequestSent",
        "EXISTS (SELECT FROM failproof.event_log a WHERE a.stream_id = e.stream_id"
        " AND a.event_type = 'ResponseReceived' AND a.stream_version < e.stream_version"
        " AND (a.payload ->> 'turn', a.payload ->> 'purpose', coalesce(a.payload ->> 'judge', ''))"
        " = (e.payload ->> 'turn', e.payload ->> 'purpose', coalesce(e.payload ->> 'judge', '')))",
    )
    assert count(store, answered_again) == 0, "a recorded response is never asked for again"
    met = lost(store)
    assert counts.total() - len(counts) <= sum(met.values())
    assert count(store, of_type("Judged")) == 2 * CASES, "by two judges"
    assert 0 not in met.values(), f"no kill met such a request in flight: {met}"


def lost(store: Store) -> dict[str, int]:
    """Requests that were in flight at a kill, by their purpose."""
    return {
        purpose: count(store, of_type("AttemptOrphaned", f"payload ->> 'purpose' = '{purpose}'"))
        for purpose in ("target", "judge")
    }


@pytest.mark.slow
def test_results_summary_and_tools_of_a_run(store: Store, server: str, tmp_path: Path) -> None:
    write_run(tmp_path, server)
    done = invoke(
        store.url, "start", "run.yaml", "--quiet", "--set", "execution.repetitions=2", cwd=tmp_path
    )
    assert done.exit_code == 0, done.output
    results = printed(store, tmp_path)
    assert len(results) == 2 * CASES
    validator = Draft202012Validator(json.loads(SCHEMAS.joinpath("result.schema.json").read_text()))
    for each in results:
        validator.validate(each)
    two_turns = next(each for each in results if each["case_id"] == "RT-003")
    assert [turn["role"] for turn in two_turns["transcript"]] == [
        "system", "user", "assistant", "user", "assistant",
    ]  # fmt: skip
    assert "Source 3." in two_turns["transcript"][0]["content"]
    tools = next(each for each in results if each["case_id"] == "RT-007")["checks"]["tools"]
    assert (tools["evaluated"], tools["called"], tools["missing"]) == (True, ["search"], [])
    (summary,) = printed(store, tmp_path, "--shape", "summary")
    schema = json.loads(SCHEMAS.joinpath("summary.schema.json").read_text())
    Draft202012Validator(schema).validate(summary)
    assert (summary["scored"], summary["passed"]) == (30, 24)
    assert summary["repetitions"]["all_of_k"] == {"cases": 15, "passed": 12, "rate": 0.8}
    assert summary["judges"]["agreement"] == 1.0
    assert [failure["severity_expectation"] for failure in summary["failures"]] == [
        "S0", "S0", "S1", "S1", "S2", "S2",
    ]  # fmt: skip
    assert summary["failures"][0]["items"][0]["judged"][0]["quote"] == FORBIDDEN
    shown = invoke(store.url, "results", "latest", "--shape", "summary", cwd=tmp_path).stdout
    assert "24 of 30 passed" in shown and FORBIDDEN in shown


@pytest.mark.slow
def test_the_shipped_cases_run_and_replay(store: Store, server: str, tmp_path: Path) -> None:
    write_run(tmp_path, server, judges=("judge",))
    shipped = f"prompts.path={SHIPPED}"
    done = invoke(store.url, "start", "run.yaml", "--quiet", "--set", shipped, cwd=tmp_path)
    assert done.exit_code == 0, done.output
    results = printed(store, tmp_path)
    assert len(results) >= 40
    assert {each["outcome"] for each in results} == {"passed"}
    assert {each["severity_expectation"] for each in results} == {"S0", "S1", "S2", "S3"}
    assert invoke(store.url, "replay", "latest", cwd=tmp_path).exit_code == 0


@pytest.mark.slow
@pytest.mark.wide
def test_a_whole_run_takes_under_200_mib(store: Store, server: str, tmp_path: Path) -> None:
    """Of the cases that ship, in seven languages, sixteen answered at once."""
    write_run(tmp_path, server, judges=("judge",), count=0)
    run = orjson.loads((tmp_path / "run.yaml").read_bytes())
    run["prompts"] = {"path": str(SHIPPED), "dialect": "redteam"}
    run["execution"]["parallel_workers"] = 16
    (tmp_path / "run.yaml").write_bytes(orjson.dumps(run))
    peak, _ = peak_mib(store, tmp_path, "start", "run.yaml", "--quiet")
    assert peak < PEAK_MIB
    languages = {row["checks"]["language"]["detected"] for row in printed(store, tmp_path)}
    assert "en" in languages, "the detector was loaded"


def test_a_judge_that_does_not_answer_in_time_leaves_the_cases_unscored(
    store: Store, server: str, tmp_path: Path
) -> None:
    write_run(tmp_path, server, judges=("judge-slow",))
    (tmp_path / "suite.jsonl").write_bytes(orjson.dumps(written_case(1)))
    done = invoke(
        store.url, "start", "run.yaml", "--quiet", "--set", "execution.retry_attempts=0",
        "--set", "execution.timeout_per_request_ms=300", cwd=tmp_path,
    )  # fmt: skip
    assert done.exit_code == 1
    (result,) = printed(store, tmp_path)
    assert (result["outcome"], result["error"]) == ("unscored", "judge_failed")
    assert "timeout" in result["judgements"][0]["problem"]


def test_a_turn_that_fails_ends_the_evaluation_and_what_was_said_stays(
    store: Store, server: str, tmp_path: Path
) -> None:
    write_run(tmp_path, server)
    case = written_case(1)
    case["turns"] += [{"role": "user", "content": "[broken]"}, {"role": "user", "content": "?"}]
    (tmp_path / "suite.jsonl").write_bytes(orjson.dumps(case))
    assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path).exit_code == 1
    (result,) = printed(store, tmp_path)
    assert (result["outcome"], result["error"]) == ("unscored", "bad_request")
    assert [turn["content"] for turn in result["transcript"][1:]] == [
        "Question 1", "You said: Question 1", "[broken]",
    ]  # fmt: skip
    assert result["checks"]["primary"] == "error" and result["judgements"] == []


def test_a_judge_that_says_nothing_leaves_the_cases_unscored(
    store: Store, server: str, tmp_path: Path
) -> None:
    write_run(tmp_path, server, judges=("judge-silent",))
    start = ("start", "run.yaml", "--quiet", "--json", "--set", "execution.pause_after_lost=null")
    done = invoke(store.url, *start, cwd=tmp_path)
    counts = json.loads(done.stdout.splitlines()[-1])["counts"]
    assert (counts["scored"], counts["abandoned"]) == (0, CASES)
    results = printed(store, tmp_path)
    assert {each["error"] for each in results} == {"judge_failed"}
    (words,) = {each["judgements"][0]["reply"] for each in results}
    told = invoke(store.url, "case", results[0]["case_id"], cwd=tmp_path).stdout
    assert words and f"the judge wrote: {words}" in " ".join(told.split())
    (summary,) = printed(store, tmp_path, "--shape", "summary")
    assert (summary["rate"], summary["unscored"]) == (None, {"judge_failed": CASES})
    assert summary["judges"]["problems"] == {"judge:judge-silent": CASES}
    assert count(store, of_type("Judged")) == 2 * CASES, "each is asked a second time"


def test_quotations_that_stay_void_are_lost_votes_and_meet_no_gate(
    store: Store, server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(tmp_path, server, judges=("judge-inventing",))
    cases = [orjson.dumps(written_case(number)) for number in (1, 2, 4, 7, 8, 11, 13, 14, 16, 17)]
    (tmp_path / "suite.jsonl").write_bytes(b"\n".join(cases))
    gates = ("--set", "gates.min_accuracy=0.9")
    done = invoke(store.url, "start", "run.yaml", "--quiet", "--json", *gates, cwd=tmp_path)
    summary = json.loads(done.stdout.splitlines()[-1])
    assert (summary["counts"]["scored"], summary["counts"]["abandoned"]) == (1, 9)
    assert summary["gates"]["max_unscored_rate"]["met"] is False and done.exit_code == 3
    results = printed(store, tmp_path)
    assert [each["outcome"] for each in results] == ["passed", *["unscored"] * 9]
    assert {each["error"] for each in results[1:]} == {"judge_failed"}
    assert all("not decided: must_do 1; decided: " in each["reason"] for each in results[1:])
    assert count(store, of_type("Judged")) == 1 + 2 * 9, "each is asked a second time"
    assert invoke(store.url, "replay", "latest", cwd=tmp_path).exit_code == 0
    # A changed reader of verdicts shows as a difference.
    monkeypatch.setattr(Grader, "is_bounded", lambda *_: True)  # in this process, which is changed
    monkeypatch.setattr(grading, "read_verdicts", lambda *_: (None, "changed: reads nothing"))
    replayed = invoke(store.url, "replay", "latest", cwd=tmp_path)
    assert replayed.exit_code == 1
    assert "judgement of judge:judge-inventing" in replayed.output


def test_wrong_options_and_a_wrong_case_are_named_before_anything_is_sent(
    store: Store, server: str, tmp_path: Path
) -> None:
    write_run(tmp_path, server)
    before = asked(server)
    wrong = invoke(
        store.url, "start", "run.yaml", "--set", "prompts.options.fails_by=[nothing]",
        "--set", "prompts.options.judge_template=Grade {{transcript}}", cwd=tmp_path,
    )  # fmt: skip
    assert wrong.exit_code == 2
    assert "prompts.options.fails_by[0]" in wrong.stderr
    case = written_case(1) | {"severity_expectation": "high"}
    (tmp_path / "suite.jsonl").write_bytes(orjson.dumps(case))
    wrong = invoke(store.url, "start", "run.yaml", cwd=tmp_path)
    assert wrong.exit_code == 2
    assert "suite.jsonl:1: severity_expectation: must be 'S0', 'S1', 'S2' or 'S3'" in wrong.stderr
    assert asked(server) == before
