"""Answers that take long to grade: their neighbours do not wait, and none of it is silent."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from failproof_es.engine.drive.grading import grader as grading
from failproof_es.store.store import Store
from failproof_es.support.bounded.running_child import Limits
from tests.acceptance.commands import invoke, write_configuration
from tests.acceptance.faults.test_faults import by_prompt

BRACES = r'(?s)\{.*"a".*\}'
"""An ordinary expression, of which `regex` takes the square of a text of braces."""
ENDLESS = r"(\{|\{\{)+[yz](?!x)"
"""RE2 has no look-ahead, and `regex` takes for ever."""
EXECUTION = {"parallel_workers": 24, "retry_attempts": 0, "timeout_per_request_ms": 5000}


def write_run(folder: Path, url: str, prompt: str, pattern: str, hostile: int, others: int) -> None:
    """A run whose model repeats each prompt."""
    written = [(f"{prompt} {n}", pattern) for n in range(hostile)]
    written += [(f"ok {n}", r"ok \d") for n in range(others)]
    cases = [
        {"case_id": str(n), "suite_id": "s", "prompt": text, "expected_response": expected}
        for n, (text, expected) in enumerate(written)
    ]
    (folder / "suite.jsonl").write_bytes(b"\n".join(map(orjson.dumps, cases)))
    write_configuration(folder, url, execution=EXECUTION)


def test_long_answers_of_braces_lose_no_neighbour(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    write_run(tmp_path, mock_url, "{" * 60_000, BRACES, hostile=4, others=8)
    done = invoke(store.url, "start", "run.yaml", cwd=tmp_path)
    assert done.exit_code == 0, done.output
    recorded = by_prompt(store)
    assert len(recorded) == 12
    for prompt, events in recorded.items():
        assert events[-1].topic == "Scored"
        assert events[-1].payload()["passed"] is prompt.startswith("ok")


def test_a_grading_that_is_stopped_has_no_score_and_its_neighbours_have_theirs(
    store: Store, mock_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grading, "LIMITS", Limits(0.5, 60.0, 2**32))
    write_run(tmp_path, mock_url, "{" * 60, ENDLESS, hostile=1, others=7)
    done = invoke(store.url, "start", "run.yaml", cwd=tmp_path)
    assert "1 of 8 evaluations has no score: its grading was stopped" in done.output
    assert done.exit_code == 3, "more than a tenth has no score"
    for prompt, events in by_prompt(store).items():
        if prompt.startswith("ok"):
            assert events[-1].topic == "Scored"
            continue
        assert [event.topic for event in events] == [
            "RequestSent",
            "ResponseReceived",
            "Classified",
            "EvaluationAbandoned",
        ]
        ended = events[-1].payload()
        assert ended["kind"] == "grading_stopped"
        assert "more than 0.5 s of processor time" in ended["reason"]
    replayed = invoke(store.url, "replay", "latest", cwd=tmp_path)
    assert replayed.exit_code == 0, replayed.output


@pytest.mark.slow
def test_what_a_model_controls_fails_where_the_configuration_says_so(
    store: Store, mock_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grading, "LIMITS", Limits(0.5, 60.0, 2**32))
    prompts = ["{" * 60, *(f"ramble {n} [fault:length]" for n in range(2)), "ok 1"]
    cases = [
        {"case_id": str(n), "suite_id": "s", "prompt": text, "expected_response": pattern}
        for n, (text, pattern) in enumerate(zip(prompts, [ENDLESS, *["said"] * 3], strict=True))
    ]
    (tmp_path / "suite.jsonl").write_bytes(b"\n".join(map(orjson.dumps, cases)))
    write_configuration(
        tmp_path,
        mock_url,
        execution=EXECUTION,
        grading={"on_cut_off": "fail"},
        gates={"min_accuracy": 0.9},
    )
    done = invoke(store.url, "start", "run.yaml", cwd=tmp_path)
    assert done.exit_code == 3 and "measured 0.25 over 4, NOT MET" in done.output
    for prompt, events in by_prompt(store).items():
        ended = events[-1].payload()
        assert ended["passed"] is (prompt == "ok 1")
        why = "the grading was stopped" if prompt == prompts[0] else "a reply was cut off"
        said = f"failed by grading.on_cut_off: {why}"
        assert prompt == "ok 1" or ended["reason"].startswith(said)
    replayed = invoke(store.url, "replay", "latest", cwd=tmp_path)
    assert replayed.exit_code == 0, replayed.output
    reusing = ("--set", "reuse.from_run=1", "--set", "grading.on_cut_off=unscored")
    again = invoke(store.url, "start", "run.yaml", *reusing, cwd=tmp_path)
    assert "reuse: 1 of 4 evaluations carried over" in again.output


@pytest.mark.slow
@pytest.mark.usefixtures("soon_stopped")
def test_an_expression_that_cannot_be_compiled_soon_is_an_error_before_anything_is_sent(
    store: Store, tmp_path: Path
) -> None:
    nested = "(" * 40 + "a" + "+)" * 40
    write_run(tmp_path, "http://127.0.0.1:9/v1", "x", nested + "(?=b)", hostile=1, others=0)
    done = invoke(store.url, "validate", "--offline", "run.yaml", cwd=tmp_path)
    assert done.exit_code == 2, done.stderr
    assert "suite.jsonl:1" in done.stderr and "expected_response" in done.stderr
    assert "costs too much: compiling the expression was stopped" in done.stderr
    write_run(tmp_path, "http://127.0.0.1:9/v1", "x", nested, hostile=1, others=0)
    compiled = invoke(store.url, "validate", "--offline", "run.yaml", cwd=tmp_path)
    assert compiled.exit_code == 0, "RE2 compiles it at once"
