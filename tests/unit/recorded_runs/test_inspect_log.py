"""A log of Inspect becomes cases and answers; what has no place is listed."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pyarrow as pa
import pytest

from failproof_es.core.case import Turn
from failproof_es.recorded_runs.inspect_process import PYTHON
from failproof_es.recorded_runs.inspect_scorers import checks_of, passed_by, scorers_of
from failproof_es.recorded_runs.kinds import READERS
from failproof_es.recorded_runs.plain import cost_of, milliseconds_of
from failproof_es.recorded_runs.records import Remainder
from tests.every import every
from tests.unit.recorded_runs.reading import FILES, all_of, inspect_lines, inspect_run, unmapped


def test_every_sample_and_epoch_is_an_answer_in_the_order_of_the_log() -> None:
    run = inspect_run(inspect_lines("capitals"))
    answers = all_of(run)
    assert (run.tool, run.tool_version, run.name) == ("Inspect", "0.3.285", "capitals")
    assert [(each.place, each.replies[-1].text) for each in answers] == [
        ("sample norway, epoch 1", "It is Oslo."),
        ("sample norway, epoch 2", "I do not know."),
        ("sample france, epoch 1", "oslo!"),
        ("sample france, epoch 2", "Lima"),
        ("sample 3, epoch 1", "Paris"),
        ("sample 3, epoch 2", "Santiago de Chile"),
    ]
    assert [each.source_passed for each in answers] == [True, False, False, False, False, True]
    assert answers[0].source_scores == {"includes": {"value": "C", "answer": "it is oslo."}}
    assert answers[0].source_metadata == {"continent": "Europe"}
    assert answers[0].case.expectation == {
        "checks": [{"kind": "contains", "ignore_case": True, "values": ["Oslo"]}]
    }
    assert answers[2].case.turns == (
        Turn(role="system", content="Answer with one word."),
        Turn(role="user", content="What is the capital of France?"),
    )
    assert (answers[0].usage.input_tokens, answers[0].usage.output_tokens) == (12, 3)
    assert run.claims["results"]["scores"][0]["metrics"]["accuracy"]["value"] == pytest.approx(
        1 / 3
    )
    assert unmapped(run) == {
        "the solver generate": 1,
        "reductions of the log": 1,
        "events of a sample": 6,
        "an explanation that repeats the reply": 6,
    }
    assert answers[0].case.digest() == answers[1].case.digest()
    assert len({each.sample_sha256 for each in answers}) == 6


def test_a_finish_reason_that_is_no_text_is_kept_and_none_that_is_known() -> None:
    text = json.dumps(inspect_lines("trouble"))
    lines = json.loads(re.sub(r'"stop_reason": "\w+"', '"stop_reason": ["length"]', text))
    ends = [
        reply.finish_reason
        for each in all_of(inspect_run(lines, "trouble"))
        for reply in each.replies
    ]
    assert ends and set(ends) == {'["length"]'}


def test_an_error_a_cut_and_a_message_that_a_solver_added_are_kept() -> None:
    broken, cut, whole = all_of(inspect_run(inspect_lines("trouble"), "trouble"))
    assert broken.error is not None and "the solver broke" in broken.error.message
    assert broken.replies == () and broken.source_passed is None
    assert (cut.replies[-1].finish_reason, whole.replies[-1].finish_reason) == ("length", "stop")
    assert whole.case.turns[0] == Turn(role="system", content="Be short.")
    assert whole.case.expectation == {
        "checks": [
            {
                "kind": "equals",
                "ignore_case": True,
                "trim": True,
                "ignore_punctuation": True,
                "values": ["42"],
            }
        ]
    }


@every(
    ("scorer", "kind"),
    [
        ({"name": "includes", "options": {"ignore_case": False}}, "contains"),
        ({"name": "inspect_ai/includes"}, "contains"),
        ({"name": "match"}, "ends_with"),
        ({"name": "match", "options": {"location": "begin"}}, "starts_with"),
        ({"name": "match", "options": {"numeric": True}}, None),
        ({"name": "match", "options": {"location": ["end"]}}, None),
        ({"name": "model_graded_qa"}, None),
        ({}, None),
        ("includes", None),
    ],
)
def test_only_scorers_that_decide_alike_become_checks(scorer: Any, kind: str | None) -> None:
    remainder = Remainder()
    checks = checks_of([scorer], remainder)(["x"])
    assert [each["kind"] for each in checks] == ([] if kind is None else [kind])
    assert bool(remainder.all()) == (kind is None)


def test_the_scorers_of_an_older_log_stand_with_its_results() -> None:
    scores = [
        {"name": "match1", "scorer": "match", "params": {"location": "any"}, "reducer": reducer}
        for reducer in ("mean", "mode")
    ]
    header = {"eval": {"scorers": None}, "results": {"scores": [*scores, {"name": "includes"}, 7]}}
    scorers = scorers_of(header)
    assert scorers[:2] == [
        {"name": "match", "options": {"location": "any"}}, {"name": "includes", "options": None},
    ]  # fmt: skip
    kinds = [check["kind"] for check in checks_of(scorers[:2], Remainder())(["x"])]
    assert kinds == ["contains", "contains"]
    own = {"eval": {"scorers": [{"name": "own"}]}, "results": header["results"]}
    assert scorers_of(own) == [{"name": "own"}] and scorers_of({}) == []


def test_a_target_of_nothing_is_no_check() -> None:
    assert checks_of([{"name": "includes"}], Remainder())([""]) == []
    assert checks_of([{"name": "includes"}], Remainder())([]) == []


@every(
    ("scores", "passed"),
    [
        ({"a": {"value": "C"}}, True),
        ({"a": {"value": "I"}}, False),
        ({"a": {"value": 1.0}}, True),
        ({"a": {"value": 0}}, False),
        ({"a": {"value": 0.5}}, None),
        ({"a": {"value": "N"}}, None),
        ({"a": {"value": ["C"]}}, None),
        ({"a": {"value": "C"}, "b": {"value": "C"}}, None),
        ({}, None),
    ],
)
def test_the_sources_verdict_is_what_its_only_score_says(scores: Any, passed: bool | None) -> None:
    assert passed_by(scores) is passed


def test_what_no_text_or_number_holds_is_kept_as_text_and_said() -> None:
    header, sample, *_ = inspect_lines("capitals")
    changed = sample["sample"]
    changed["messages"][-1]["content"] = changed["output"]["choices"][0]["message"]["content"] = (
        "a \ud800 \0 b"
    )
    changed["metadata"] = {"n": float("nan"), "i": 2**70, "deep": _nested(200), "s": "\udfff"}
    changed["scores"]["includes"]["value"] = float("inf")
    changed["output"]["usage"] = {"input_tokens": -1, "output_tokens": 2**70}
    changed["model_usage"] = "no object"
    run = inspect_run([header, sample, {"end": 1}])
    [answer] = all_of(run)
    assert answer.replies[-1].text == "a \ufffd \0 b"
    assert answer.source_metadata["n"] == "nan"
    assert answer.source_metadata["i"] == hex(2**70)
    assert answer.source_scores["includes"]["value"] == "inf"
    assert answer.source_passed is None
    assert answer.usage.input_tokens is None and answer.usage.output_tokens is None
    said = unmapped(run)
    assert {"half a character (a lone surrogate)", "the number nan", "the number inf"} <= set(said)
    assert "a whole number beyond 64 bits" in said and "a value" in said


@every("value", [None, True, "1", -1, 1e15, 10**400, float("inf"), float("nan")])
def test_what_is_no_duration_is_no_latency(value: Any) -> None:
    assert milliseconds_of(value) is None and milliseconds_of(value, unit_ms=1000) is None


@every("value", [None, True, "1", -1, 10**400, float("inf"), float("nan")])
def test_what_is_no_cost_is_none(value: Any) -> None:
    assert cost_of(value) is None and cost_of(0.5) == "0.5"


def test_a_latency_is_in_milliseconds() -> None:
    assert (milliseconds_of(2), milliseconds_of(0.5, unit_ms=1000)) == (2.0, 500.0)


def _nested(levels: int) -> Any:
    found: Any = "inside"
    for _ in range(levels):
        found = [found]
    return found


@every(
    "sample",
    [
        {},
        {"id": None, "messages": "x", "output": [], "scores": 3, "metadata": [1]},
        {"id": [1], "epoch": -1, "messages": [1, {}, {"role": "tool"}], "input": {"a": 1}},
        {"id": "a", "epoch": "1", "output": {"choices": [{"message": {"content": [{}]}}]}},
    ],
)
def test_a_sample_of_wrong_types_is_an_answer_or_an_error_of_the_source(sample: Any) -> None:
    header = inspect_lines("capitals")[0]
    [answer] = all_of(inspect_run([header, {"sample": sample}, {"end": 1}]))
    assert answer.replies or answer.error is not None
    assert answer.case.turns


@every(
    ("spoken", "replies"),
    [
        ([], []),
        ([{"role": "assistant", "content": "2", "source": "generate"}], ["2"]),
        ([{"role": "assistant", "content": "2"}], ["2"]),  # older logs name no source
    ],
)
def test_an_example_in_the_input_is_no_reply(spoken: list[Any], replies: list[str]) -> None:
    turns = [("user", "2+2?"), ("assistant", "4"), ("user", "1+1?")]
    examples = [{"role": role, "content": text, "source": "input"} for role, text in turns]
    output: Any = {"choices": [], "error": ""}
    sample = {"id": 1, "input": examples, "messages": examples + spoken, "output": output}
    header = inspect_lines("capitals")[0]
    [answer] = all_of(inspect_run([header, {"sample": sample}, {"end": 1}]))
    assert [turn.content for turn in answer.case.turns] == [text for _, text in turns]
    assert [reply.text for reply in answer.replies] == replies
    assert (answer.error is None) == bool(replies)


def test_an_id_that_stands_twice_is_one_more_repetition_and_said() -> None:
    header, sample, *_ = inspect_lines("capitals")
    run = inspect_run([header, sample, sample, {"end": 2}])
    first, second = all_of(run)
    assert first.case.digest() == second.case.digest()
    assert unmapped(run)["an id that stands twice"] == 1


def test_inspects_own_reader_finds_what_the_recorded_lines_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("inspect_ai", reason="the extra `inspect` is not installed")
    monkeypatch.delenv(PYTHON, raising=False)
    read = all_of(READERS["inspect-log"](FILES / "capitals.eval"))
    assert read == all_of(inspect_run(inspect_lines("capitals")))


def test_a_graders_tokens_are_no_tokens_of_the_answer_and_images_are_told() -> None:
    [answer] = all_of(run := inspect_run(inspect_lines("roles"), "roles"))
    assert [(len(each.tool_calls), each.text) for each in answer.replies][1:] == [(0, "It is 2")]
    assert answer.replies[0].tool_calls[0].arguments == '{"x":1,"y":1}'
    # two calls of the model; the grader is the same model, asked twice as much
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (20, 4)
    told = unmapped(run)
    assert told["content of type image in a message"] == 1
    assert told["the model mockllm/model in the role grader"] == 1
    assert told["the scorer model_graded_qa"] == told["several scorers that decide alike"] == 1
    assert told["message_limit of a sample"] == 1
    assert answer.source_passed is None and set(answer.source_scores) == {
        "includes", "match", "model_graded_qa",
    }  # fmt: skip


def test_what_a_cancelled_run_has_not_come_to_is_told() -> None:
    answers = all_of(run := inspect_run(inspect_lines("stopped"), "stopped"))
    assert [each.place for each in answers] == ["sample a, epoch 1", "sample waits, epoch 1"]
    assert answers[1].error is not None and run.claims["status"] == "cancelled"
    told = {each.what: each for each in run.remainder.all()}
    planned = told["a sample that was planned"]
    assert (planned.count, planned.first) == (4, "sample a, epoch 2")  # 3 samples x 2 epochs
    assert "cancelled" in told["the rest of the run"].why


@every("log", sorted(FILES.glob("*.eval")))
def test_no_folder_of_a_machine_is_in_a_log_kept_here(log: Path) -> None:
    members = list(_unpacked(log.read_bytes()))
    assert len(members) > 5 and any(b"mockllm" in each for each in members)
    for each in members:
        assert not re.search(rb"/(tmp|home|root|work|Users)/", each)


def _unpacked(archive: bytes) -> Iterator[bytes]:
    """What is in its members; `zipfile` does not know their compression here."""
    with ZipFile(BytesIO(archive)) as listed:
        for member in listed.infolist():
            names = archive[member.header_offset + 26 : member.header_offset + 30]
            begin = member.header_offset + 30 + sum(struct.unpack("<HH", names))
            packed = archive[begin : begin + member.compress_size]
            with pa.input_stream(BytesIO(packed), compression="zstd") as stream:
                yield stream.read()
