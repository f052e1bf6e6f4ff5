"""Results of promptfoo become cases and answers; what has no place is listed."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from failproof_es.core.case import Turn
from failproof_es.dialects.reply_checks import ReplyCheck, met
from failproof_es.problems import InvalidInput
from failproof_es.recorded_runs.promptfoo_results import read_promptfoo_results
from failproof_es.recorded_runs.records import RecordedAnswer
from tests.unit.recorded_runs.reading import FILES, all_of, unmapped

RESULTS = FILES / "promptfoo_results.json"


def test_every_result_is_an_answer_of_its_provider_to_its_prompt() -> None:
    run = read_promptfoo_results(RESULTS)
    answers = all_of(run)
    assert (run.tool, run.tool_version, run.name) == (
        "promptfoo", "0.121.20", "Capitals and greetings",
    )  # fmt: skip
    assert len(answers) == 16 and {each.model for each in answers} == {"echo", "answers"}
    first = answers[0]
    assert first.case.turns == (Turn(role="user", content="What is the capital of Norway?"),)
    assert first.replies[0].text == "Oslo, in Norway"
    assert (first.usage.input_tokens, first.usage.output_tokens) == (9, 2)
    assert (first.source_cost_usd, first.latency_ms) == ("2.1e-05", 2.0)
    assert first.source_passed is True
    chat = answers[1].case.turns
    assert [each.role for each in chat] == ["system", "user"]
    assert len({each.case.digest() for each in answers}) == 8


def test_assertions_that_a_program_decides_are_checks_and_code_is_none() -> None:
    run = read_promptfoo_results(RESULTS)
    by_country = {each.case.document["vars"]["country"]: each.case for each in all_of(run)}
    checks = {name: case.expectation["checks"] for name, case in by_country.items()}
    assert checks == {
        "Norway": [],  # one of its two assertions is code
        "France": [
            {"kind": "contains", "values": ["France", "Paris"]},
            {"kind": "contains", "values": ["Berlin"], "negate": True},
        ],
        "Chile": [{"kind": "regex", "values": ["^(Santiago|Lima)"]}],
        "Nowhere": [],
    }
    assert unmapped(run)["an assertion"] == 4


def test_a_finish_reason_that_is_no_text_is_kept_and_none_that_is_known(tmp_path: Path) -> None:
    document = json.loads(RESULTS.read_bytes())
    for result in document["results"]["results"]:
        result["response"]["finishReason"] = {"type": "length"}
    (tmp_path / "results.json").write_text(json.dumps(document))
    replies = [each.replies for each in all_of(read_promptfoo_results(tmp_path / "results.json"))]
    words = {reply.finish_reason for (reply,) in filter(None, replies)}
    assert words == {'{"type":"length"}'}


def test_a_failed_assertion_is_a_verdict_and_a_failed_call_an_error() -> None:
    answers = all_of(read_promptfoo_results(RESULTS))
    errors = [each.error.message for each in answers if each.error is not None]
    assert errors == ["there is no such place"] * 2
    assert sum(each.source_passed is False for each in answers) == 4


def test_our_verdicts_are_those_of_promptfoo_wherever_there_is_one_of_ours() -> None:
    """Of a real run: two configurations of one provider, `--repeat 2`, assertions of every kind."""
    run = read_promptfoo_results(FILES / "promptfoo_rich" / "results.json")
    answers = all_of(run)
    keys = Counter((each.case.digest(), each.model) for each in answers)
    assert len(answers) == 44 and set(keys.values()) == {2}
    assert {each.model for each in answers} == {"echo", "echo #2"}
    decided: dict[str, set[tuple[bool, bool | None]]] = {}
    for each in answers:
        name = each.case.document.get("description", "a scenario")
        checks = [ReplyCheck.model_validate(check) for check in each.case.expectation["checks"]]
        if checks:
            ours = all(met(check, each.replies[0].text) for check in checks)
            decided.setdefault(name, set()).add((ours, each.source_passed))
    passed = {(True, True)}
    assert decided == {
        "variables": passed, "commas in quotation marks": passed, "a file's value": passed,
        "fails": {(False, False)}, "a row": passed, "a scenario": passed,
    }  # fmt: skip
    told = unmapped(run)
    assert told["a provider that is named twice"] == 22
    undecided = ("an assertion's transform", "a transform of the output", "`threshold` of a test")
    assert [told[each] for each in undecided] == [4, 4, 4]
    assert told["`raw` of a response"] == 44


def test_a_value_that_promptfoo_does_not_tell_is_filled_in_or_none(tmp_path: Path) -> None:
    asserted = [{"type": "contains", "value": "{{a}} of {{b}}"}]
    row = {"vars": {"a": "one", "b": 2, "c": "file://c.txt"}, "gradingResult": None}
    for value, checks in (
        ("{{a}} of {{b}}", [{"kind": "contains", "values": ["one of 2"]}]),
        ("{{a | upper}}", []), ("{{c}}", []), ("file://a.txt", []),
    ):  # fmt: skip
        asserted[0]["value"] = value
        path = rewritten(tmp_path, testCase={"assert": asserted}, **row)
        [answer] = all_of(read_promptfoo_results(path))
        assert answer.case.expectation == {"checks": checks}, value


def changed_rows(tmp_path: Path, rows: list[Any], **summary: Any) -> list[RecordedAnswer]:
    path = tmp_path / "r.json"
    path.write_text(json.dumps({"results": {"results": rows, **summary}}))
    return all_of(read_promptfoo_results(path))


def test_a_repetition_has_its_tests_smallest_number_in_any_order(tmp_path: Path) -> None:
    """promptfoo writes the results as they come."""
    rows = [
        {"testIdx": number, "promptIdx": 0, "provider": "m", "prompt": {"raw": "Q"},
         "vars": {"a": number % 2}, "testCase": {}, "response": {"output": f"reply {number}"}}
        for number in range(4)
    ]  # fmt: skip
    for order in (rows, rows[::-1], [*rows[2:], *rows[:2]]):
        answers = changed_rows(tmp_path, order)
        assert [answer.replies[0].text for answer in answers] == [f"reply {n}" for n in range(4)]
        assert [answer.case.case_id for answer in answers] == [
            f"test {number}, prompt 0" for number in (0, 1, 0, 1)
        ]


def test_rows_of_version_2_are_cases_by_what_they_ask_with_their_graded_assertions(
    tmp_path: Path,
) -> None:
    def row(provider: str, country: str, **fields: Any) -> dict[str, Any]:
        component = {"pass": True, "assertion": {"type": "contains", "value": "{{city}}"}}
        return {
            "provider": {"id": provider}, "prompt": {"raw": f"Of {country}?", "label": "p"},
            "vars": {"country": country, "city": "Paris"}, "response": {"output": "Paris"},
            "gradingResult": {"pass": True, "componentResults": [component]}, **fields,
        }  # fmt: skip

    failed: Any = {"response": None, "gradingResult": None, "error": "timed out"}
    rows = [row("a", "France"), row("b", "France"), row("a", "Chile"), row("b", "Chile", **failed)]
    answers = changed_rows(tmp_path, rows, version=2, table={"head": {}})
    ids = [answer.case.case_id for answer in answers]
    assert ids[0] == ids[1] != ids[2] == ids[3] and "None" not in ids[0]
    assert len({answer.case.digest() for answer in answers}) == 2
    assert [answer.case.expectation["checks"] for answer in answers] == [
        [{"kind": "contains", "values": ["Paris"]}]
    ] * 4
    assert [answer.error is not None for answer in answers] == [False, False, False, True]
    assert [answer.case for answer in changed_rows(tmp_path, rows[::-1])] == [
        answer.case for answer in reversed(answers)
    ]
    by_score = {"reason": "Aggregate score 0.67 ≥ 0.5 threshold"}
    for grading in (by_score, {"componentResults": [{"assertion": None}, {}]}):
        changed = rows[0]["gradingResult"] | grading
        [answer] = changed_rows(tmp_path, [{**rows[0], "gradingResult": changed}])
        assert answer.case.expectation == {"checks": []}


def test_an_unknown_key_of_an_assertion_leaves_no_check(tmp_path: Path) -> None:
    asserted = {"type": "equals", "value": "a", "normalizeUnicode": True}
    path = rewritten(tmp_path, testCase={"assert": [asserted]})
    [answer] = all_of(run := read_promptfoo_results(path))
    assert answer.case.expectation == {"checks": []}
    assert unmapped(run)["an assertion's normalizeUnicode"] == 1


def rewritten(tmp_path: Path, **changed: Any) -> Path:
    document = json.loads(RESULTS.read_text("utf-8"))
    document["results"]["results"][:] = document["results"]["results"][:1]
    document["results"]["results"][0].update(changed)
    path = tmp_path / "r.json"
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize(
    "changed",
    [
        {"response": None},
        {
            "gradingResult": {
                "componentResults": [{"metadata": {"renderedAssertionValue": "x"}}, 5]
            },
            "vars": [1],
            "testCase": {"assert": [None, 7, {"type": "contains", "value": "{{a}}"}]},
        },
        {"response": {"output": {"a": float("nan")}}},
        {"response": {"output": "\ud800"}, "cost": 10**400},
        {"prompt": None, "testCase": "x", "provider": None, "gradingResult": []},
        {"prompt": {"raw": "[{]"}, "latencyMs": True, "tokenUsage": [1]},
        {"testCase": {"assert": [{"type": "regex", "value": "("}]}},
        {"testCase": {"assert": [{"type": "regex", "value": "(a{1000}){1001}"}]}},
        {"testCase": {"assert": [{}, 1, {"type": "equals"}]}},
        {"error": {"code": 2**80}, "response": {"error": ["x"]}},
    ],
)
@pytest.mark.long
def test_a_result_of_wrong_types_is_an_answer_or_an_error(tmp_path: Path, changed: Any) -> None:
    [answer] = all_of(read_promptfoo_results(rewritten(tmp_path, **changed)))
    assert answer.replies or answer.error is not None
    assert answer.case.digest()


@pytest.mark.parametrize(
    ("judged", "what"),
    [
        ({"type": "llm-rubric", "value": "is polite"}, "an assertion for a judge"),
        ({"type": "is-refusal"}, "an assertion on a refusal"),
    ],
)
def test_an_assertion_for_a_judge_leaves_the_answer_to_people(
    tmp_path: Path, judged: Any, what: str
) -> None:
    rubric = [judged, {"type": "contains", "value": "Oslo"}]
    run = read_promptfoo_results(rewritten(tmp_path, testCase={"assert": rubric}))
    [answer] = all_of(run)
    assert answer.case.expectation == {"checks": []}
    assert unmapped(run)[what] == 1


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"{}", b'{"results": {}}', b"\xff\xfe"])
def test_what_is_no_file_of_results_is_refused_with_its_name(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "odd.json"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=r"odd\.json"):
        read_promptfoo_results(path)
