"""What a model leaves without a score, and what is asked again by its result, flatters no gate."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import Result

from failproof_es.store.reading.reader import find, resolve_run
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, write_configuration
from tests.acceptance.runs.test_gates import gates

CASES = 10
BOUNDS = [0.1, 1.0]


def configured(folder: Path, mock_url: str, asks: list[str], **limits: Any) -> None:
    """One case for each text, which the mock reads for what to say; right is `yes`."""
    cases = [
        {"case_id": f"c{n}", "suite_id": "s", "prompt": f"{folder.name} {n} {ask}",
         "expected_response": "^yes$"}
        for n, ask in enumerate(asks)
    ]  # fmt: skip
    (folder / "suite.jsonl").write_bytes(b"\n".join(map(orjson.dumps, cases)))
    write_configuration(folder, mock_url, gates=limits)


def says(*answers: str) -> str:
    """The mock's answer at the first time that it is asked, at the second, and so on."""
    return f"[answer:{','.join(b64encode(each.encode()).decode() for each in answers)}]"


def start(store: Store, folder: Path, *more: object) -> Result:
    return invoke(store.url, "start", "run.yaml", *more, cwd=folder)


def again(store: Store, folder: Path, run: int, what: str) -> Result:
    return invoke(store.url, "resume", run, "--again", what, "--quiet", cwd=folder)


def last_position(store: Store, run: int) -> int:
    with store.connect() as connection:
        events = find(connection, run_id=resolve_run(connection, str(run)))
        return max(event.position for event in events)


RAMBLING = [says("yes"), *["[fault:length]"] * (CASES - 1)]


def test_nine_of_ten_that_ramble_miss_the_default_gate_and_the_rate_has_its_bounds_everywhere(
    store: Store, tmp_path: Path, mock_url: str
) -> None:
    configured(tmp_path, mock_url, RAMBLING, min_accuracy=0.9)
    done = start(store, tmp_path)
    assert done.exit_code == 3, done.output
    judged = gates(store, 1)
    assert judged["min_accuracy"]["measured"] == 1.0, "of what was scored"
    gate = judged["max_unscored_rate"]
    assert (gate["limit"], gate["measured"], gate["of"], gate["met"]) == (0.1, 0.9, 10, False)
    why = "9 of 10 evaluations have no score: cut off at max_tokens (9)"
    assert gate["why"] == f"model mock: {why}"
    for told in (done.stdout, invoke(store.url, "show", 1, cwd=tmp_path).stdout):
        assert why in told and "if unscored failed or passed" in told
        assert "10.0 % to 100.0 %" in told

    shown = json.loads(invoke(store.url, "show", 1, "--json", cwd=tmp_path).stdout)
    assert shown["unscored"] == {"cut_off": 9}
    [model], [suite] = shown["by_model"], shown["by_suite"]
    for accuracy in (shown["accuracy"], model["accuracy"]):
        assert accuracy["by_case_bounds"] == accuracy["mean_of_suites_bounds"] == BOUNDS
    assert suite["accuracy_bounds"] == BOUNDS
    for shows in (shown, model, suite):
        assert shows["passed"]["bounds"] == BOUNDS
    (listed,) = json.loads(invoke(store.url, "runs", "--json", cwd=tmp_path).stdout)
    assert listed["passed"][0]["bounds"] == BOUNDS and listed["passed"][0]["unscored"] == 9
    for form in ("md", "json", "csv"):
        file = tmp_path / f"report.{form}"
        done = invoke(store.url, "report", 1, "--format", form, "-o", file, cwd=tmp_path)
        assert done.exit_code == 0, done.output
    text = (tmp_path / "report.md").read_text()
    assert "10.0 % to 100.0 % if everything unscored had failed or passed" in text
    assert "if those failed or passed" in text
    groups = json.loads((tmp_path / "report.json").read_text())["groups"]
    assert {(each["unscored"], *each["bounds"]) for each in groups} == {(9, *BOUNDS)}
    heading, first, *_ = (tmp_path / "report.csv").read_text().splitlines()
    assert heading.endswith("unscored,rate_if_failed,rate_if_passed")
    assert first.endswith("9,0.1,1.0")


def test_null_turns_the_limit_off(store: Store, tmp_path: Path, mock_url: str) -> None:
    configured(tmp_path, mock_url, RAMBLING, max_unscored_rate=None)
    assert start(store, tmp_path, "--quiet").exit_code == 0
    assert gates(store, 1) == {}


FLAKY = [says("yes"), *[says("no", "yes")] * 3]
"""One is right at once, and three are at the second time."""


@pytest.mark.slow
def test_a_missed_gate_cannot_be_bought_by_asking_only_the_failures_again(
    store: Store, tmp_path: Path, mock_url: str
) -> None:
    """Nor by a branch of that branch, nor by a run that reuses its answers."""
    configured(tmp_path, mock_url, FLAKY, min_accuracy=0.9, no_failures_at=["S0"])
    assert start(store, tmp_path, "--quiet").exit_code == 3
    assert gates(store, 1)["min_accuracy"]["measured"] == 0.25

    bought = again(store, tmp_path, 1, "failed")
    assert bought.exit_code == 3, bought.output
    position = last_position(store, 2)
    branch = invoke(store.url, "resume", 2, "--at", position, "--quiet", cwd=tmp_path)
    assert branch.exit_code == 3, branch.output
    reused = start(store, tmp_path, "--quiet", "--reuse", 3)
    assert reused.exit_code == 3, reused.output

    chosen = "run 2 asked again only what had failed in run 1"
    for run in (2, 3, 4):
        gate = gates(store, run)["min_accuracy"]
        assert (gate["measured"], gate["met"]) == (None, False)
        assert gate["why"].startswith("not judged: ") and chosen in gate["why"], gate
    for run in (2, 4):
        gate = gates(store, run)["min_accuracy"]
        shown = invoke(store.url, "show", run, cwd=tmp_path).stdout
        assert f"gate min_accuracy 0.9: nothing measured ({gate['why']}), NOT MET" in shown
        assert "no gate judges them" in shown
        report = invoke(store.url, "report", run, "--format", "md", "-o", "-", cwd=tmp_path).stdout
        assert "not judged: " in report
        assert run == 2 or "Answers are carried over from run 2" in report
    assert "answers are carried over from run 2" in gates(store, 4)["min_accuracy"]["why"]

    fresh = start(store, tmp_path, "--quiet")
    assert fresh.exit_code == 3 and gates(store, 5)["min_accuracy"]["measured"] == 1.0
    assert gates(store, 5)["min_accuracy"]["met"], "everything was asked: it is a measurement"


def test_what_a_server_lost_may_be_asked_again_and_what_an_answer_left_unscored_stays_counted(
    store: Store, tmp_path: Path, mock_url: str
) -> None:
    """`--again errors` chooses by no score: the rates are judged."""
    lost, cut = f"[fault:http400*1] {says('yes')}", f"[fault:length*1] {says('yes')}"
    configured(tmp_path, mock_url, [says("yes"), lost, lost, cut, cut], min_accuracy=0.9)
    assert start(store, tmp_path, "--quiet").exit_code == 3
    assert gates(store, 1)["max_unscored_rate"]["measured"] == 0.8

    done = again(store, tmp_path, 1, "errors")
    assert done.exit_code == 3, done.output
    shown = json.loads(invoke(store.url, "show", 2, "--json", cwd=tmp_path).stdout)
    assert shown["counts"]["scored"] == 5, "each has a score now"
    judged = gates(store, 2)
    assert judged["min_accuracy"]["measured"] == 1.0 and judged["min_accuracy"]["met"]
    gate = judged["max_unscored_rate"]
    assert (gate["measured"], gate["met"]) == (0.4, False), "the two that were cut off"
    assert "2 evaluations have a score only because a first answer" in gate["why"]

    position = last_position(store, 2)
    branch = invoke(store.url, "resume", 2, "--at", position, "--quiet", cwd=tmp_path)
    assert branch.exit_code == 3, branch.output
    assert gates(store, 3)["max_unscored_rate"]["measured"] == 0.4
    assert start(store, tmp_path, "--quiet", "--reuse", 3).exit_code == 3
    assert gates(store, 4)["max_unscored_rate"]["measured"] == 0.4
    assert start(store, tmp_path, "--quiet", "--reuse", 1).exit_code == 3
    assert gates(store, 5)["max_unscored_rate"]["measured"] == 0.4, "nor by reusing run 1 itself"


def test_a_run_whose_model_answered_and_whose_judge_did_not_says_so(
    store: Store, tmp_path: Path, mock_url: str
) -> None:
    case = {
        "id": "a", "title": "t", "category": "c", "severity_expectation": "S1",
        "turns": [{"role": "user", "content": f"{tmp_path.name} {says('Oslo')}"}],
        "tags": [],
        "expected_behavior": {
            "must_do": ["names Oslo"], "must_not_do": [], "pass_criteria": [],
        },
    }  # fmt: skip
    (tmp_path / "suite.jsonl").write_bytes(orjson.dumps(case))
    write_configuration(
        tmp_path, mock_url, prompts={"path": "suite.jsonl", "dialect": "redteam"},
        judges=[{"provider": "openai", "base_url": mock_url, "model": "mock"}],
    )  # fmt: skip
    done = start(store, tmp_path, "--json")
    assert done.exit_code == 1, done.output
    reason = json.loads(done.stdout.splitlines()[-1])["reason"]
    assert "not one evaluation was answered" not in reason
    assert "no usable verdict came on 1 answer;" in reason
