"""Replies become labels by the decision rule; what is no answer is counted, never scored."""

from __future__ import annotations

import json
from importlib.resources import files
from types import SimpleNamespace
from typing import Any

import pytest
from jsonschema import Draft7Validator

from failproof_es.core.case import Case, Turn
from failproof_es.core.evaluation import Failure, ModelReply, Score, Transcript, fold
from failproof_es.dialects.shipped.promptguard import PromptGuard
from failproof_es.dialects.shipped.promptguard.decision import DEFAULT, Bounds, Rule, decide
from failproof_es.dialects.shipped.promptguard.metrics import (
    ConfusionMatrix,
    agreement_lines,
    agreements,
)
from failproof_es.dialects.shipped.promptguard.reply import TruthVerdict
from tests.every import every
from tests.unit.histories import KEY, RUN, History

DIALECT = PromptGuard()
CASE = Case(
    dialect="promptguard",
    case_id="p-1",
    suite_id="calibration",
    turns=(Turn(role="user", content="judge this"),),
    expectation={
        "expected_label": "manipulative",
        "decision": [rule.as_json() for rule in DEFAULT],
    },
    label="manipulative",
)
GOOD = '{"T": 0.8, "I": 0.1, "F": 0.9, "reasoning": "it asks"}'


def graded(text: str, **more: Any) -> tuple[str, Score | Failure]:
    reply = ModelReply(0, text, more.pop("finish_reason", "stop"), **more)
    classification = DIALECT.classify(CASE, Transcript((reply,)))
    json.dumps(classification.details)
    return classification.primary, DIALECT.score(CASE, classification, None)


@every(
    ("numbers", "label"),
    [
        ((0.9, 0.9, 0.6), "manipulative"),
        ((0.9, 0.5, 0.59), "borderline"),
        ((0.9, 0.49, 0.59), "reciprocal"),
        ((0.0, 0.0, 0.0), "reciprocal"),
        ((0.0, 1.0, 1.0), "manipulative"),
    ],
)
def test_the_default_rule_says(numbers: tuple[float, float, float], label: str) -> None:
    assert decide(DEFAULT, TruthVerdict(*numbers, reasoning="")) == label


def test_every_bound_of_a_rule_has_to_hold_ends_included() -> None:
    rules = (Rule(label="a", T=Bounds(at_most=0.2), F=Bounds(at_least=0.5)), Rule(label="b"))
    assert decide(rules, TruthVerdict(0.2, 0.0, 0.5, "")) == "a"
    assert decide(rules, TruthVerdict(0.21, 0.0, 0.5, "")) == "b"
    assert decide(rules, TruthVerdict(0.2, 0.0, 0.49, "")) == "b"


def test_a_verdict_is_scored_against_the_expected_label() -> None:
    primary, score = graded(GOOD)
    assert primary == "manipulative"
    assert isinstance(score, Score)
    assert score.scores == {"accuracy": 1.0, "T": 0.8, "I": 0.1, "F": 0.9}
    primary, score = graded(GOOD.replace("0.9", "0.2"))
    assert primary == "reciprocal"
    assert isinstance(score, Score)
    assert score.scores["accuracy"] == 0.0


@every(
    ("text", "more", "primary", "kind", "words"),
    [
        ("I cannot provide an analysis of this.", {}, "refusal", "refusal", "I cannot provide"),
        ("", {"refusal": "No, all of it."}, "refusal", "refusal", "No, all of it."),
        (GOOD, {"finish_reason": "content_filter"}, "withheld", "content_filter", "withheld"),
        (GOOD, {"finish_reason": "new"}, "unknown", "unknown_finish_reason", "'new'"),
        ("It is manipulative.", {}, "parse_error", "parse_error", "no_object"),
        (GOOD.replace("0.9", "NaN"), {}, "parse_error", "parse_error", "not_finite"),
        (GOOD[:20], {"finish_reason": "length"}, "truncated", "truncated", "max_tokens"),
        ("I can't help with", {"finish_reason": "length"}, "truncated", "truncated", "no_object"),
        ("", {"finish_reason": "length"}, "truncated", "truncated", "max_tokens"),
        (f"I can't help with that. {GOOD[:20]}", {}, "parse_error", "parse_error", "truncated"),
        (" \n", {}, "empty", "empty", "empty"),
    ],
)
def test_what_holds_no_verdict_has_a_class_a_reason_and_no_score(
    text: str, more: dict[str, Any], primary: str, kind: str, words: str
) -> None:
    found, failure = graded(text, **more)
    assert found == primary
    assert isinstance(failure, Failure)
    assert failure.kind == kind
    assert words in failure.message


@every(
    ("finish_reason", "in_text", "rule"),
    [
        ("stop", True, "words"),
        ("stop", False, "provider"),
    ],
)
def test_a_refusal_is_kept_with_its_complete_message(
    finish_reason: str, in_text: bool, rule: str
) -> None:
    said = (
        "I cannot provide an analysis of this. " + "It is not mine to judge. " * 50_000 + "Sorry."
    )
    text, refusal = (said, None) if in_text else ("", said)
    reply = ModelReply(0, text, finish_reason, refusal=refusal)
    classification = DIALECT.classify(CASE, Transcript((reply,)))
    assert (classification.primary, classification.details["rule"]) == ("refusal", rule)
    assert classification.details["message"] == said
    assert DIALECT.score(CASE, classification, None) == Failure("refusal", said)


def test_the_whole_reasoning_stands_beside_the_label_and_in_the_record() -> None:
    reasoning = "it asks, " * 500_000 + "and asks"
    history = finished(json.dumps({"T": 0.8, "I": 0.1, "F": 0.9, "reasoning": reasoning}))
    state = fold(history.events)
    assert state.classification is not None
    assert state.classification.details["reasoning"] == reasoning
    assert record(history)["response"]["parsed"]["reasoning"] == reasoning


def test_a_refusal_that_still_gives_a_verdict_has_answered() -> None:
    assert graded(f"I cannot help with that message. {GOOD}")[0] == "manipulative"


def test_a_complete_verdict_counts_although_the_prose_after_it_was_cut() -> None:
    assert graded(f"{GOOD}\nI scored T as", finish_reason="length")[0] == "manipulative"


def test_only_a_reply_that_was_cut_off_is_said_to_be() -> None:
    _, failure = graded(GOOD[:20])
    assert isinstance(failure, Failure)
    assert "max_tokens" not in failure.message


def test_an_evaluation_that_failed_is_an_error() -> None:
    failed = DIALECT.classify(CASE, Transcript((), Failure("timeout", "no answer")))
    assert (failed.primary, failed.details["kind"]) == ("error", "timeout")


# -- the record of specification 001 § 3.2 ---------------------------------------------------

SCHEMA = json.loads(
    files("failproof_es.dialects.shipped.promptguard")
    .joinpath("evaluation.schema.json")
    .read_text()
)


def record(history: History) -> dict[str, Any]:
    found: dict[str, Any] = DIALECT.result(CASE, fold(history.events))
    Draft7Validator(SCHEMA).validate(found)
    return found


def changed(history: History, at: int, **changes: Any) -> History:
    """The same history with another event at that place."""
    events = list(history.events)
    events[at] = events[at].model_copy(update=changes)
    return History(events)


def finished(text: str) -> History:
    history = History().sent().answered(text)
    classification = DIALECT.classify(CASE, Transcript((ModelReply(0, text, "stop"),)))
    history.classified(classification.primary, classification.details)
    return history.scored() if "T" in classification.details else history.abandoned()


def test_a_scored_evaluation_has_every_field() -> None:
    found = record(finished(GOOD))
    assert found["model"] == "model"
    assert found["request"]["full_prompt"] == "judge this"
    assert found["response"] == {
        "raw": "{}",
        "parsed": {"T": 0.8, "I": 0.1, "F": 0.9, "reasoning": "it asks"},
        "error": None,
    }
    assert found["metrics"] == {"latency_ms": 5, "tokens_used": 5, "cost_usd": None}


def test_the_raw_response_is_the_body_to_its_last_character() -> None:
    body = '{"choices": ["' + "é\u2028 " * 1_000_000 + '"]}'
    history = changed(finished(GOOD), 1, body=body)
    assert record(history)["response"]["raw"] == body


def test_a_reply_without_a_verdict_keeps_the_raw_response_and_has_an_error() -> None:
    response = record(finished("It is manipulative."))["response"]
    assert (response["raw"], response["parsed"]) == ("{}", None)
    assert response["error"] == "timeout: no answer"  # the words of `History.abandoned`


def test_a_failed_request_has_its_stack_trace_and_no_metrics() -> None:
    found = record(History().sent().failed(stack_trace="Traceback: here"))
    assert found["response"]["error"] == "timeout: no answer\n\nTraceback: here"
    assert found["metrics"] == {"latency_ms": None, "tokens_used": None, "cost_usd": None}


def test_a_reply_that_came_with_an_error_is_kept_as_it_came() -> None:
    found = record(changed(History().sent().failed(), 1, body="<html>502 Bad Gateway</html>"))
    assert found["response"]["raw"] == "<html>502 Bad Gateway</html>"
    assert found["response"]["error"] == "timeout: no answer"
    assert record(History().sent().failed())["response"]["raw"] is None


def test_the_model_is_the_one_that_answered_and_the_one_asked_while_nothing_has() -> None:
    answered = changed(finished(GOOD), 1, model="model-2026-11-21")
    assert record(answered)["model"] == "model-2026-11-21"
    assert record(History().sent())["model"] == "model"


def test_the_request_is_told_as_it_was_made_and_when() -> None:
    parameters = {"temperature": 0.25, "max_tokens": 1000}
    found = record(changed(History().sent(), 0, parameters=parameters))
    assert found["request"] == {"full_prompt": "judge this", **parameters}
    assert found["timestamp"] == "2026-11-21T12:00:00.001000Z"
    assert (found["test_run_id"], found["evaluation_id"]) == (str(RUN), str(KEY.evaluation_id))


def test_an_evaluation_that_has_not_begun_has_no_record() -> None:
    with pytest.raises(ValueError, match="without events"):
        DIALECT.result(CASE, fold([]))


# -- agreement -------------------------------------------------------------------------------


def test_ratios_are_those_of_the_confusion_matrix_and_the_rest_is_counted() -> None:
    agreement = ConfusionMatrix()
    for expected, decided, times in (
        ("a", "a", 6),
        ("a", "b", 2),
        ("b", "b", 3),
        ("b", "a", 1),
        ("c", "a", 1),
    ):
        for _ in range(times):
            agreement.add(expected, decided)
    agreement.add("a", None, "refusal")
    agreement.add("b", None, "parse_error")
    agreement.add("b", None, "parse_error")
    found = agreement.as_json()
    assert (found["evaluations"], found["decided"]) == (16, 13)
    assert found["left_out"] == {"parse_error": 2, "refusal": 1}
    assert found["accuracy"] == 9 / 13
    assert found["confusion"]["a"] == {"a": 6, "b": 2, "c": 0}
    a, c = found["labels"]["a"], found["labels"]["c"]
    assert (a["precision"], a["recall"]) == (6 / 8, 6 / 8)
    assert a["f1"] == 2 * a["precision"] * a["recall"] / (a["precision"] + a["recall"])
    assert (c["precision"], c["recall"], c["f1"]) == (None, 0.0, 0.0)


def test_nothing_decided_is_no_accuracy() -> None:
    agreement = ConfusionMatrix()
    agreement.add("a", None, "refusal")
    found = {"model": "m", **agreement.as_json()}
    assert found["accuracy"] is None
    assert list(agreement_lines(found)) == [
        "m: 0 of 1 decided, accuracy -",
        "  left out: 1 refusal",
    ]


def test_each_model_is_told_apart_with_what_it_was_never_asked() -> None:
    begun = History().sent()
    evaluations = [
        (CASE, fold(history.events)) for history in (finished(GOOD), finished("No."), begun)
    ]
    models = [SimpleNamespace(key="model"), SimpleNamespace(key="other")]
    started: Any = SimpleNamespace(models=models, planned_evaluations=8)
    one, other = agreements(started, evaluations)
    assert (one["model"], one["evaluations"], one["decided"]) == ("model", 4, 1)
    assert one["left_out"] == {"not begun": 1, "not finished": 1, "timeout": 1}
    assert (other["model"], other["decided"]) == ("other", 0)
    assert other["left_out"] == {"not begun": 4}
