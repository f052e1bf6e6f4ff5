"""Records of Every Eval Ever become cases and answers; a reference alone decides nothing."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from failproof_es.core.case import Turn
from failproof_es.problems import InvalidInput
from failproof_es.recorded_runs.every_eval_ever import read_every_eval_ever
from tests.unit.recorded_runs.reading import FILES, all_of, unmapped

NAMED = "0f4ac4a6-8b4e-4c1d-9d3a-0123456789ab"
CONVERTED = "1d7d3cf7-25bd-457f-8e12-1a2e9c2c10e3"
SAMPLES, AGGREGATE = FILES / f"{NAMED}_samples.jsonl", FILES / f"{NAMED}.json"


def sample(**changed: Any) -> dict[str, Any]:
    first: dict[str, Any] = json.loads(SAMPLES.read_text("utf-8").splitlines()[0])
    return {**first, **changed}


def written(tmp_path: Path, *samples: Any, **aggregate: Any) -> Path:
    """The samples in a file; an aggregate beside it where something of one is given."""
    lines = "".join(json.dumps(each) + "\n" for each in samples)
    path = tmp_path / "samples.jsonl"
    path.write_text(lines)
    if not aggregate:
        return path
    beside = tmp_path / "record.json"
    document = json.loads(AGGREGATE.read_text("utf-8"))
    details = {
        "format": "jsonl", "file_path": "data/x/samples.jsonl", "hash_algorithm": "sha256",
        "checksum": hashlib.sha256(lines.encode()).hexdigest(),
    }  # fmt: skip
    beside.write_text(json.dumps({**document, "detailed_evaluation_results": details, **aggregate}))
    return beside


def test_each_sample_is_an_answer_with_the_verdict_of_its_source() -> None:
    run = read_every_eval_ever(SAMPLES)
    answers = all_of(run)
    lines = [json.loads(line) for line in SAMPLES.read_text("utf-8").splitlines()]
    assert (run.tool, run.tool_version) == ("Every Eval Ever", "0.3.0")
    assert [each.source_passed for each in answers] == [
        line["evaluation"]["is_correct"] for line in lines
    ]
    assert all(each.model == line["model_id"] for each, line in zip(answers, lines, strict=True))
    assert all(each.case.expectation == {"checks": []} and each.replies for each in answers)
    assert "the aggregate" in unmapped(run)


def test_the_aggregate_that_stands_beside_its_samples_is_read_with_them() -> None:
    run = read_every_eval_ever(AGGREGATE)
    assert [each.name for each in run.files] == [AGGREGATE.name, SAMPLES.name]
    assert len(all_of(run)) == 2 and "the aggregate" not in unmapped(run)


def test_records_that_differ_only_in_the_result_are_one_answer() -> None:
    """Of Inspect's three scorers and two epochs, converted by Every Eval Ever itself."""
    run = read_every_eval_ever(FILES / f"{CONVERTED}.json")
    first, second = all_of(run)
    assert (first.place, second.place) == ("line 1", "line 4")
    assert first.case.digest() == second.case.digest()
    assert {name: each["score"] for name, each in first.source_scores.items()} == {
        "includes:accuracy": 1.0, "match:accuracy": 0.0, "lengthy:mean": 1.5,
    }  # fmt: skip
    assert first.source_passed is None and len(first.messages) == 3
    assert [len(each.tool_calls) for each in first.replies] == [1, 0]
    assert unmapped(run)["`sample_hash` of a sample"] == 2


def test_the_same_result_of_the_same_content_once_more_is_another_answer(tmp_path: Path) -> None:
    lines = [sample(evaluation_result_id=each) for each in ("a", "a", "b", "b", "a")]
    answers = all_of(read_every_eval_ever(written(tmp_path, *lines)))
    assert [each.place for each in answers] == ["line 1", "line 2", "line 5"]
    assert [sorted(each.source_scores)[:1] for each in answers[:2]] == [["a"], ["a"]]


def test_an_aggregate_brings_its_samples_and_its_claims(tmp_path: Path) -> None:
    run = read_every_eval_ever(written(tmp_path, sample(), evaluation_timestamp="2026-11-23"))
    assert [each.name for each in run.files] == ["record.json", "samples.jsonl"]
    assert run.tool.startswith("Every Eval Ever (inspect") and run.began_at == "2026-11-23"
    assert run.claims["evaluation_results"] and len(all_of(run)) == 1


@pytest.mark.parametrize(
    ("aggregate", "code"),
    [
        ({"detailed_evaluation_results": None}, "no-answers"),
        ({"detailed_evaluation_results": {"file_path": "../gone.jsonl"}}, "file-not-found"),
        ({"detailed_evaluation_results": {"file_path": "samples.jsonl\0"}}, "no-answers"),
        (
            {
                "detailed_evaluation_results": {
                    "file_path": "samples.jsonl",
                    "hash_algorithm": "md5",
                    "checksum": "ab",
                }
            },
            "checksum-mismatch",
        ),
    ],
)
def test_an_aggregate_whose_samples_are_not_those_is_refused(
    tmp_path: Path, aggregate: Any, code: str
) -> None:
    with pytest.raises(InvalidInput, match=rf"\[{code}\]"):
        read_every_eval_ever(written(tmp_path, sample(), **aggregate))


@pytest.mark.parametrize(
    ("claims", "field"),
    [
        ({"hash_algorithm": "sha512", "checksum": "ab"}, "the checksum"),
        ({"checksum": "ab"}, "the checksum"),
        ({"hash_algorithm": "sha256", "checksum": 7}, "the checksum"),
        ({"total_rows": 9}, "`total_rows` of detailed_evaluation_results"),
    ],
)
def test_a_claim_about_the_samples_that_is_not_checked_does_not_map(
    tmp_path: Path, claims: dict[str, Any], field: str
) -> None:
    details = {"file_path": "samples.jsonl", **claims}
    run = read_every_eval_ever(written(tmp_path, sample(), detailed_evaluation_results=details))
    assert len(all_of(run)) == 1 and unmapped(run)[field] == 1


def test_a_field_of_an_aggregate_that_is_not_read_does_not_map(tmp_path: Path) -> None:
    run = read_every_eval_ever(written(tmp_path, sample(), additional={"a": 1}))
    assert len(all_of(run)) == 1 and unmapped(run)["`additional` of the aggregate"] == 1


def test_several_outputs_are_repetitions_and_a_conversation_is_one_answer(tmp_path: Path) -> None:
    several = sample(interaction_type="single_turn", output={"raw": ["a", "b"]}, messages=None)
    talk = sample(
        sample_id="talk",
        interaction_type="multi_turn",
        output=None,
        messages=[
            {"turn_idx": 0, "role": "user", "content": "Hello"},
            {"turn_idx": 1, "role": "assistant", "content": "Hi", "tool_calls": [{"name": "t"}]},
            {"turn_idx": 2, "role": "tool", "content": None},
            {"turn_idx": 3, "role": "assistant", "content": None},
        ],
    )
    one, two, spoken = all_of(read_every_eval_ever(written(tmp_path, several, talk)))
    assert [each.replies[0].text for each in (one, two)] == ["a", "b"]
    assert one.case.digest() == two.case.digest()
    assert spoken.case.turns == (Turn(role="user", content="Hello"),)
    assert [each.text for each in spoken.replies] == ["Hi", ""]
    assert spoken.replies[0].tool_calls[0].name == "t" and len(spoken.messages) == 3


def test_an_older_record_has_one_output_or_interactions(tmp_path: Path) -> None:
    plain = sample(output={"raw": "Oslo"}, messages=None)
    spoken = [
        {"turn_idx": 0, "role": "user", "content": "Hello"},
        {"turn_idx": 1, "role": "assistant", "content": "Hi"},
    ]
    talk = sample(sample_id="talk", output=None, messages=None, interactions=spoken)
    answers = all_of(run := read_every_eval_ever(written(tmp_path, plain, talk)))
    assert [[reply.text for reply in answer.replies] for answer in answers] == [["Oslo"], ["Hi"]]
    assert answers[1].case.turns == (Turn(role="user", content="Hello"),)
    assert not any(answer.error for answer in answers)
    assert "`interactions` of a sample" not in unmapped(run)


@pytest.mark.parametrize(
    "changed",
    [
        {"output": None, "messages": None},
        {"output": {"raw": [None, 3]}, "input": None, "evaluation": [1]},
        {"messages": [1, {"role": "tool"}], "output": None, "sample_id": None},
        {"error": "it broke", "token_usage": "x", "performance": {"latency_ms": float("nan")}},
        {"evaluation": {"score": float("inf"), "is_correct": "yes"}, "model_id": 7},
        {"metadata": {"a": 2**80}, "output": {"raw": ["\ud800\0"]}},
    ],
)
def test_a_sample_of_wrong_types_is_an_answer_or_an_error(tmp_path: Path, changed: Any) -> None:
    for each in all_of(read_every_eval_ever(written(tmp_path, sample(), sample(**changed)))):
        assert each.replies or each.error is not None
        assert each.case.digest() and each.case.turns


@pytest.mark.parametrize("content", [b"", b"{}\n", b"[]\n", b'{"evaluation_id": "x"}\n'])
def test_what_is_neither_is_refused(tmp_path: Path, content: bytes) -> None:
    for name in ("odd.jsonl", "odd.json"):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(InvalidInput, match="odd"):
            read_every_eval_ever(path)


def test_a_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    twice = json.dumps(sample()).replace('"output"', '"output": {"raw": ["hidden"]}, "output"', 1)
    path.write_text(f"{json.dumps(sample())}\n{twice}\n")
    with pytest.raises(InvalidInput, match=r"jsonl:2: .*'output'.*\[duplicate-field\]"):
        all_of(read_every_eval_ever(path))
