"""Asking failed evaluations again, and reusing answers whose requests are the same to the byte."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import orjson
import pytest

import failproof_es
from failproof_es.store.reading.reader import find, resolve_run
from failproof_es.store.store import Store
from tests.acceptance.commands import (
    ROOT,
    asked,
    invoke,
    write_configuration,
    write_suite,
)

CASES = 8


def answers(*texts: str) -> str:
    return f"[answer:{','.join(b64encode(text.encode()).decode() for text in texts)}]"


@pytest.fixture
def folder(tmp_path: Path, mock_url: str, request: pytest.FixtureRequest) -> Path:
    """Two cases fail at first and pass then, one always fails, two end with an error at first."""
    suite = write_suite(tmp_path, CASES, prompt=f"{request.node.name} {{n}}.")
    cases = [orjson.loads(line) for line in suite.read_bytes().splitlines()]
    for n, more in (
        (0, answers("wrong", "number 0")),
        (1, answers("wrong", "number 1")),
        (2, answers("wrong")),
        (3, "[fault:http500]"),
        (4, "[fault:http500*2]"),
    ):
        cases[n]["prompt"] += more
    suite.write_bytes(b"\n".join(map(orjson.dumps, cases)))
    execution = {"parallel_workers": 2, "retry_attempts": 1, "retry_delay_ms": 1}
    write_configuration(tmp_path, mock_url, execution=execution)
    return tmp_path


def told(store: Store, folder: Path, *arguments: object) -> Any:
    return json.loads(invoke(store.url, *arguments, "--json", cwd=folder).stdout)


def topics(store: Store, run: int) -> dict[str, int]:
    with store.connect() as connection:
        rows = find(connection, run_id=resolve_run(connection, str(run)))
        found = [row.topic for row in rows]
    return {topic: found.count(topic) for topic in ("RequestSent", "CarriedOver")}


def edit(folder: Path, n: int, **changes: Any) -> None:
    file = folder / "suite.jsonl"
    cases = [orjson.loads(line) for line in file.read_bytes().splitlines()]
    cases[n] |= changes
    file.write_bytes(b"\n".join(map(orjson.dumps, cases)))


@pytest.mark.slow
def test_only_what_failed_is_asked_again_and_the_branch_says_what_that_does_to_its_rate(
    store: Store, folder: Path
) -> None:
    told(store, folder, "start", "run.yaml", "--quiet")
    first = told(store, folder, "show", 1)
    assert (first["counts"]["passed"], first["counts"]["abandoned"]) == (3, 2)
    done = invoke(store.url, "resume", 1, "--again", "failed", cwd=folder)
    assert "3 failed evaluations asked again, 5 carried over" in done.stderr
    assert topics(store, 2) == {"RequestSent": 3, "CarriedOver": 5}
    second = told(store, folder, "show", 2)
    assert (second["counts"]["passed"], second["counts"]["abandoned"]) == (5, 2)
    branch = second["branched_from"]
    assert branch["again"] == "failed"
    assert [each["case"] for each in branch["asked_again"]] == [f"case-0000{n}" for n in range(3)]
    people = invoke(store.url, "show", 2, cwd=folder).stdout
    assert "5 evaluations carried over" in people
    assert "3 evaluations that had failed" in people
    assert "their second try makes the pass rate too high" in " ".join(people.split())
    assert second["attempts"]["attempt"] == 2, "it is another attempt of the same"
    for form in ("md", "json"):
        file = folder / f"report.{form}"
        invoke(store.url, "report", 2, "--format", form, "-o", file, cwd=folder)
        assert "asks again what failed in run 1, so its pass rate is too high" in file.read_text()
    results = invoke(store.url, "results", 2, cwd=folder)
    assert "5 of 8 finished evaluations carried over" in results.stderr
    assert invoke(store.url, "replay", 2, cwd=folder).exit_code == 0
    third = invoke(store.url, "resume", 2, "--again", "errors", "--quiet", cwd=folder)
    assert third.exit_code in (0, 3), third.output
    assert topics(store, 3) == {"RequestSent": 3, "CarriedOver": 6}, "one needs its second try"
    assert told(store, folder, "show", 3)["counts"]["abandoned"] == 1
    assert invoke(store.url, "verify", cwd=folder).exit_code == 0


def test_cases_that_failed_are_asked_by_a_changed_configuration_and_no_gate_judges_their_rates(
    store: Store, folder: Path
) -> None:
    first = invoke(store.url, "start", "run.yaml", cwd=folder)
    assert "after a fix, `failproof-es start run.yaml --reuse 1` asks everything" in first.stderr
    assert "`--only failed:1` asks only the cases that failed" in first.stderr
    nothing = invoke(store.url, "start", "run.yaml", "--only", "failed:2", cwd=folder)
    assert nothing.exit_code == 2 and "[unknown-run]" in nothing.stderr
    edit(folder, 2, prompt="A question that is asked in other words, number 2.")
    chosen = ("--only", "failed:latest", "--set", "gates.min_accuracy=0.1")
    checked = invoke(store.url, "validate", "run.yaml", "--offline", *chosen, cwd=folder)
    assert "3 of 8 cases: only failed:1" in checked.stderr
    assert "their cases are asked" not in checked.stderr, "one model is asked what it failed"
    two = ("--set", "matrix.parameters={temperature: [0.0, 0.5]}")
    checked = invoke(store.url, "start", "run.yaml", "--dry-run", *chosen, *two, cwd=folder)
    bill = "failed:1 is 3 results; their cases are asked of all 2 models: 6 evaluations (--model"
    assert bill in checked.stderr, checked.output
    done = invoke(store.url, "start", "run.yaml", "--quiet", *chosen, cwd=folder)
    reason = "run 2 chose its cases by their scores (failed:1), so its rates are no measurement"
    assert (done.exit_code, f"not judged: {reason}" in done.stdout) == (3, True), done.output
    shown = told(store, folder, "show", 2)
    assert shown["selection"]["only"] == ["failed:1"] and shown["planned_cases"] == 3
    assert shown["attempts"]["attempt"] == 1, "it is no attempt of the whole"
    compared = invoke(store.url, "diff", 1, 2, cwd=folder).stdout
    unasked = compared.index("not asked again")
    assert unasked < compared.index("passed in one run alone") and "--reuse 1`" in compared
    untold = json.loads(invoke(store.url, "diff", 1, 2, "--json", cwd=folder).stdout)
    assert untold["incomparable"] == reason
    report = invoke(store.url, "report", 1, 2, "--format", "json", "-o", "-", cwd=folder)
    document = json.loads(report.stdout)
    assert document["comparisons"] == [], "what failed by chance is no measure of the second run"
    assert document["verdict"]["sentence"].endswith("which is better cannot be told.")
    again = invoke(store.url, "resume", 2, "--again", "failed", "--quiet", cwd=folder)
    assert "chosen by their scores" in again.stdout or again.exit_code == 2, again.output
    none = invoke(store.url, "validate", "run.yaml", "--only", "unscored:2", cwd=folder)
    assert "selection.only" in none.stderr and "[no-match]" in none.stderr


def test_where_nothing_failed_there_is_nothing_to_ask_again(store: Store, folder: Path) -> None:
    told(store, folder, "start", "run.yaml", "--quiet", "--only", "id:*5")
    for what in ("failed", "errors"):
        refused = invoke(store.url, "resume", 1, "--again", what, cwd=folder)
        assert refused.exit_code == 2 and "[nothing-to-ask]" in refused.stderr
    both = invoke(store.url, "resume", 1, "--again", "failed", "--retry-abandoned", cwd=folder)
    assert both.exit_code == 2 and len(told(store, folder, "runs")) == 1


@pytest.mark.slow
def test_an_answer_is_reused_only_where_the_request_would_be_the_same_to_the_byte(
    store: Store, folder: Path, mock_url: str
) -> None:
    told(store, folder, "start", "run.yaml", "--quiet")
    edit(folder, 5, prompt="another question")
    edit(folder, 6, expected_response="another answer")
    edit(folder, 3, tags=["another"])
    before = asked(mock_url)
    checked = invoke(store.url, "validate", "run.yaml", "--offline", "--reuse", 1, cwd=folder)
    said = (
        "reuse: 4 of 8 evaluations carried over from run 1; asked: 1 of cases whose question "
        "changed, 1 of cases whose expectation changed, 1 of cases whose tags or notes changed, "
        "1 have no score there"
    )
    assert said in checked.stderr, checked.stderr
    assert "Ready to run: 8 cases, 4 evaluations, 4 requests" in checked.stdout
    done = invoke(store.url, "start", "run.yaml", "--reuse", 1, cwd=folder)
    assert said in done.stderr
    assert "4 of them carried over" in done.stdout
    assert topics(store, 2)["CarriedOver"] == 4
    after = asked(mock_url)
    again = {prompt for prompt, count in after.items() if count > before.get(prompt, 0)}
    assert len(again) == 4 and "another question" in again
    shown = told(store, folder, "show", 2)
    assert shown["branched_from"]["reuse"] is True
    assert shown["counts"]["requests"] == topics(store, 2)["RequestSent"]
    assert "may reuse answers of" in invoke(store.url, "show", 2, cwd=folder).stdout
    assert [each["branch"] for each in told(store, folder, "runs")] == [
        "may reuse answers of run 1", None,
    ]  # fmt: skip
    assert "may reuse answers of run 1" in invoke(store.url, "runs", cwd=folder).stdout
    compared = invoke(store.url, "diff", 1, 2, cwd=folder).stdout
    assert "may reuse answers of run 1, 4 evaluations carried over" in compared
    assert told(store, folder, "diff", 1, 2)["right"]["carried_over"] == 4
    with failproof_es.open(2, database_url=store.url) as opened:
        assert "may reuse answers of run 1" in repr(opened)
        assert "may reuse answers of run 1" in opened._repr_html_()
        own = [each for each in opened.results() if each.source_run_id is None]
        sent = sum(each.requests for each in own)
        assert sent == shown["counts"]["requests"] == opened.document.counts.requests
    file = folder / "report.md"
    invoke(store.url, "report", 2, "--format", "md", "-o", file, cwd=folder)
    assert "may reuse answers of" in file.read_text()
    assert "4 evaluations happened in run 1 or before it" in file.read_text()
    assert invoke(store.url, "replay", 2, cwd=folder).exit_code == 0
    proven = invoke(store.url, "verify", 2, cwd=folder)
    assert proven.exit_code == 0, proven.output
    assert invoke(store.url, "verify", cwd=folder).exit_code == 0


def test_other_parameters_another_place_or_other_grading_are_asked_again(
    store: Store, folder: Path, mock_url: str
) -> None:
    told(store, folder, "start", "run.yaml", "--quiet", "--only", "id:*5", "--only", "id:*7")
    only = ("--only", "id:*5", "--only", "id:*7", "--reuse", 1)
    for change, reused in (
        ("models.0.temperature=0.5", 0),
        ("models.0.seed=3", 0),
        (f"models.0.base_url={mock_url.replace('127.0.0.1', 'localhost')}", 0),
        ("models.0.timeout_ms=4000", 2),
        ("execution.repetitions=2", 2),
    ):
        checked = invoke(
            store.url, "validate", "run.yaml", "--offline", *only, "--set", change, cwd=folder
        )
        assert f"reuse: {reused} of" in checked.stderr, (change, checked.stderr)


def test_judged_answers_are_reused_with_the_same_judges_alone(
    store: Store, tmp_path: Path, judging_url: str
) -> None:
    model = {"provider": "openai", "base_url": judging_url, "model": "m"}
    judges = [{**model, "model": "judge-a"}]
    sections: dict[str, Any] = {
        "prompts": {"path": str(ROOT / "suites/redteam/hallucination.jsonl")},
        "selection": {"limit": 2}, "models": [model], "judging": {"attempts": 1},
    }  # fmt: skip
    write_configuration(tmp_path, judging_url, **sections, judges=judges)
    assert told(store, tmp_path, "start", "run.yaml", "--quiet")["counts"]["scored"] == 2
    for judged, reused in (
        (judges, 2),
        ([{**judges[0], "model": "judge-b"}], 0),
        ([{**judges[0], "temperature": 0.5}], 0),
        ([*judges, {**model, "model": "judge-b"}], 0),
    ):
        write_configuration(tmp_path, judging_url, **sections, judges=judged)
        checked = invoke(store.url, "validate", "run.yaml", "--offline", "--reuse", 1, cwd=tmp_path)
        assert f"reuse: {reused} of 2" in checked.stderr, (judged, checked.stderr)


def test_a_run_that_does_not_exist_cannot_be_reused(store: Store, folder: Path) -> None:
    refused = invoke(store.url, "start", "run.yaml", "--reuse", 7, cwd=folder)
    assert refused.exit_code == 2
    assert "reuse.from_run" in refused.stderr and "[unknown-run]" in refused.stderr


def test_a_run_that_reuses_is_carried_on_by_several_workers_and_by_resume(
    store: Store, folder: Path
) -> None:
    told(store, folder, "start", "run.yaml", "--quiet")
    detached = invoke(store.url, "start", "run.yaml", "--reuse", 1, "--detach", cwd=folder)
    assert detached.exit_code == 0, detached.output
    resumed = invoke(store.url, "resume", 2, "--quiet", cwd=folder)
    assert resumed.exit_code in (0, 3), resumed.output
    assert topics(store, 2)["CarriedOver"] == 6
    assert told(store, folder, "show", 2)["counts"]["passed"] == 4, "one had an error before"
    third = told(store, folder, "start", "run.yaml", "--reuse", 2, "--quiet")
    assert third["counts"]["finished"] == CASES
    assert topics(store, 3)["CarriedOver"] >= 6, "what was carried over before is carried over"
    assert invoke(store.url, "verify", cwd=folder).exit_code == 0


HEADERS = {"X-Tier": "MY_TIER", "X-Team": "MY_TEAM"}
VALUES = {"MY_TIER": "gold-and-long", "MY_TEAM": "team-token-1", "COPY": "gold-and-long"}
SENT: dict[str, tuple[dict[str, str], dict[str, str], int]] = {
    "in another order and case": ({"x-team": "MY_TEAM", "X-TIER": "MY_TIER"}, {}, 3),
    "by another variable": ({**HEADERS, "X-Tier": "COPY"}, {}, 3),
    "another value": (HEADERS, {"MY_TIER": "silver-and-long"}, 0),
    "values exchanged": ({"X-Tier": "MY_TEAM", "X-Team": "MY_TIER"}, {}, 0),
    "another name": ({"X-Tiers": "MY_TIER", "X-Team": "MY_TEAM"}, {}, 0),
    "one less": ({"X-Tier": "MY_TIER"}, {}, 0),
}


def test_an_answer_to_other_headers_is_not_reused(
    store: Store, tmp_path: Path, mock_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in VALUES.items():
        monkeypatch.setenv(name, value)

    def write(headers: dict[str, str]) -> None:
        model = {"provider": "openai", "base_url": mock_url, "model": "mock", "headers": headers}
        write_configuration(tmp_path, mock_url, models=[model])

    write_suite(tmp_path, 3, prompt="headers {n}.")
    write(HEADERS)
    assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path).exit_code == 0
    found = {}
    for name, (headers, values, _) in SENT.items():
        write(headers)
        with monkeypatch.context() as changed:
            for variable, value in values.items():
                changed.setenv(variable, value)
            told = invoke(
                store.url, "validate", "run.yaml", "--offline", "--reuse", 1, cwd=tmp_path
            )
        found[name] = next(n for n in (0, 3) if f"reuse: {n} of 3 evaluations" in told.stderr)
    assert found == {name: reused for name, (*_, reused) in SENT.items()}
    with store.connect() as connection:
        log = "".join(str(row.payload()) for row in find(connection))
    assert not [value for value in VALUES.values() if value in log]
    write(HEADERS)
    told = invoke(store.url, "start", "run.yaml", "--quiet", "--reuse", 1, cwd=tmp_path)
    assert told.exit_code == 0 and topics(store, 2) == {"RequestSent": 0, "CarriedOver": 3}
