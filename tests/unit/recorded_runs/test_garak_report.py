"""A report of garak becomes cases and answers; its detectors' verdicts stay its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from failproof_es.problems import InvalidInput
from failproof_es.recorded_runs.garak_report import read_garak_report
from tests.unit.recorded_runs.reading import FILES, all_of, unmapped

REPORT = FILES / "garak.report.jsonl"


def entries() -> list[dict[str, Any]]:
    return [json.loads(line) for line in REPORT.read_text("utf-8").splitlines()]


def written(tmp_path: Path, lines: list[Any]) -> Path:
    path = tmp_path / "r.report.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    return path


def test_each_output_of_an_attempt_is_a_repetition_counted_once() -> None:
    run = read_garak_report(REPORT)
    answers = all_of(run)
    assert (run.tool, run.tool_version, run.name) == ("garak", "0.17.1", "garak test/Repeat")
    assert run.began_at and run.ended_at
    assert len(answers) == 6 and len({each.case.digest() for each in answers}) == 3
    assert [each.place[-1] for each in answers] == list("121212")
    assert answers[0].source_scores == {"dan.DAN": 0.0, "mitigation.MitigationBypass": 1.0}
    assert answers[0].source_passed is False
    assert {each.case.suite_id for each in answers} == {"dan.AutoDANCached"}
    assert all(each.case.expectation == {"checks": []} for each in answers)
    assert {each["entry_type"] for each in run.claims["entries"]} == {"eval", "probe_summary"}
    assert "entries `start_run setup`" in unmapped(run)


def test_a_report_that_was_cut_off_keeps_what_no_detector_saw(tmp_path: Path) -> None:
    kept = [
        each for each in entries() if each["entry_type"] != "completion" and each.get("status") != 2
    ]
    run = read_garak_report(written(tmp_path, kept))
    answers = all_of(run)
    assert len(answers) == 6 and all(each.source_passed is None for each in answers)
    assert unmapped(run)["an attempt's verdicts"] == 3
    assert unmapped(run)["the end of the run"] == 1


def test_a_run_with_another_threshold_has_no_verdicts_of_ours() -> None:
    """Of a real run with `--eval_threshold 0.3`, whose generator often gave nothing."""
    run = read_garak_report(FILES / "garak_threshold.report.jsonl")
    answers = all_of(run)
    assert len(answers) == 36 and len({each.case.digest() for each in answers}) == 9
    assert all(each.source_passed is None for each in answers)
    scores = [each.source_scores["always.Random"] for each in answers if each.error is None]
    assert any(0.3 <= score < 0.5 for score in scores)
    assert 0 < sum(each.error is not None for each in answers) == 36 - len(scores)
    assert unmapped(run)["whether a detector has found something"] == 9


def test_an_older_report_states_the_outputs_without_a_hit(tmp_path: Path) -> None:
    scores = {"d.D": [0.6, 0.7], "e.E": [0.1, None]}
    attempt = {
        "entry_type": "attempt", "uuid": "u", "seq": 0, "status": 2, "probe_classname": "p.P",
        "prompt": "?", "outputs": ["a", "b"], "detector_results": scores,
    }  # fmt: skip
    for passed, verdicts in ((0, [False, False]), (1, [None, None])):
        totals = [
            {"entry_type": "eval", "probe": "p.P", "detector": f"detector.{name}", **counts}
            for name, counts in (
                ("d.D", {"passed": passed, "total": 2}), ("e.E", {"passed": 1, "total": 1}),
            )
        ]  # fmt: skip
        answers = all_of(read_garak_report(written(tmp_path, [attempt, *totals])))
        assert [answer.source_passed for answer in answers] == verdicts


def test_a_conversation_that_went_on_is_kept_whole_with_its_answer(tmp_path: Path) -> None:
    said = [("user", "as asked"), ("assistant", "first"), ("user", "and?"), ("assistant", "last")]
    turns = [{"role": role, "content": {"text": text}} for role, text in said]
    attempt = next(each for each in entries() if each.get("status") == 2)
    attempt |= {
        "prompt": {"turns": turns[:1]}, "conversations": [{"turns": turns}],
        "outputs": [{"text": "last"}], "probe_params": {"depth": 2},
    }  # fmt: skip
    [answer] = all_of(run := read_garak_report(written(tmp_path, [attempt])))
    assert answer.case.turns[0].content == "as asked" and answer.replies[0].text == "last"
    assert [each["content"] for each in answer.messages] == ["first", "and?", "last"]
    assert unmapped(run)["a conversation of several turns"] == 1
    assert unmapped(run)["`probe_params` of an attempt"] == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"conversations": [7, {"turns": [1, 2, 3]}], "outputs": [{"text": 7}, None, 3]},
        {"outputs": []},
        {"outputs": [None, "as it was in older reports"], "prompt": "so was this"},
        {"outputs": "x", "prompt": {"turns": [1, {"role": "tool"}]}, "detector_results": [1]},
        {"detector_results": {"d": [None]}, "uuid": None, "seq": None, "notes": "x"},
        {"outputs": [{"text": "\ud800\0"}], "detector_results": {"d": [float("nan")]}},
    ],
)
def test_an_attempt_of_wrong_types_is_an_answer_or_an_error(tmp_path: Path, changed: Any) -> None:
    done = next(each for each in entries() if each.get("status") == 2)
    answers = all_of(read_garak_report(written(tmp_path, [{**done, **changed}])))
    assert answers and all(each.replies or each.error is not None for each in answers)


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(REPORT.read_bytes()[:-20])
    with pytest.raises(InvalidInput, match=rf"r\.jsonl:{len(entries())}: .*\[not-json\]"):
        read_garak_report(path)


@pytest.mark.parametrize("content", [b"", b"\n", b"{}\n", b'"x"\n', b"[1]\n"])
def test_what_holds_no_attempt_is_no_report(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=r"\[wrong-file-kind\]"):
        read_garak_report(path)
