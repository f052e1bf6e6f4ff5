"""The same events give the same spans, with recorded times, whatever order evaluations come in."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest

from failproof_es.core.evaluation import AWAITING_REVIEW
from failproof_es.core.request_body import RequestBodies
from failproof_es.events import Event, RequestSent, ResponseReceived, ToolCall, Usage
from failproof_es.exports.otel.endpoint import require_endpoint
from failproof_es.exports.otel.telemetry import (
    EvaluationResultEvent,
    Span,
    Telemetry,
    TelemetryOf,
    first_part,
)
from failproof_es.problems import InvalidInput
from tests.unit.histories import BEGIN, RUN, History


def told(events: Iterable[Event], *, content: bool = False) -> list[Telemetry]:
    maker = TelemetryOf(content)
    return [each for event in events for each in maker.take(event)]


def spans(found: Iterable[Telemetry]) -> list[Span]:
    return [each for each in found if isinstance(each, Span)]


def test_each_request_is_a_span_below_its_evaluation_with_the_recorded_times() -> None:
    found = told(History().sent().failed().sent(2).answered().classified().scored().events)
    failed, answered, evaluation = spans(found)
    assert failed.parent_id == answered.parent_id == evaluation.span_id
    assert failed.error == "timeout" and answered.error is None
    begin = int(BEGIN.timestamp()) * 1_000_000_000
    assert (answered.start, answered.end) == (begin + 3_000_000, begin + 4_000_000)
    assert (evaluation.start, evaluation.end) == (begin + 1_000_000, begin + 6_000_000)
    assert evaluation.trace_id == RUN.int and evaluation.attributes["failproof_es.requests"] == 2
    results = [each for each in found if isinstance(each, EvaluationResultEvent)]
    assert {each.span_id for each in results} == {answered.span_id}
    assert {each.attributes["gen_ai.evaluation.name"] for each in results} == {"accuracy", "passed"}


def test_an_answer_of_another_model_is_one_request_that_failed() -> None:
    history = History().sent().answered().failed(kind="model_mismatch", disposition="final")
    request, _ = spans(told(history.classified().abandoned().events))
    assert request.error == request.attributes["error.type"] == "model_mismatch"
    assert request.attributes["gen_ai.usage.input_tokens"] == 3


def test_what_was_lost_abandoned_or_carried_over_is_told_as_that() -> None:
    lost, evaluation = spans(told(History().sent().lost().abandoned().events))
    assert lost.error == "orphaned" and evaluation.error == "timeout"
    (carried,) = told(History().carried_over().events)
    assert isinstance(carried, Span)
    assert carried.attributes["failproof_es.status"] == "carried over"


def test_the_answer_of_a_judge_is_not_what_was_evaluated() -> None:
    history = History().sent().answered().classified().asked_judge("j1", "good")
    found = told(history.judged("j1", {"pass": True}).scored().events)
    target, judge, _ = spans(found)
    results = [each for each in found if isinstance(each, EvaluationResultEvent)]
    assert results and all(each.span_id == target.span_id for each in results)
    assert judge.attributes["failproof_es.purpose"] == "judge"


def test_content_is_told_to_who_asks_for_it_alone() -> None:
    events = History().sent().answered("the secret").classified().scored().events
    assert "the secret" not in str(told(events))
    assert "the secret" in str(told(events, content=True))
    assert told(events) == told(events)


def test_a_request_is_told_as_the_conventions_have_it() -> None:
    sent, answered = History().sent().answered("").events[-2:]
    assert isinstance(sent, RequestSent) and isinstance(answered, ResponseReceived)
    asked = {"temperature": 0, "top_k": 4, "seed": 7, "max_tokens": 9, "top_p": True, "x": 10**400}
    changed = (
        sent.model_copy(update={"endpoint": "https://api.example/v1", "parameters": asked}),
        answered.model_copy(
            update={
                "first_token_ms": 250.0,
                "refusal": "\ud800 no",
                "tool_calls": (ToolCall(id="1", name="look", arguments="{}"),),
                "usage": Usage(input_tokens=9, reasoning_tokens=2, cache_write_tokens=3),
            }
        ),
    )
    rest = History().sent().answered().classified().scored().events[-2:]
    request, _ = spans(told([*changed, *rest], content=True))
    had = request.attributes
    assert (had["server.address"], had["server.port"]) == ("api.example", 443)
    assert str(had["gen_ai.request.temperature"]) == "0.0" and had["gen_ai.request.seed"] == 7
    assert str(had["gen_ai.request.top_k"]) == "4.0" and "gen_ai.request.top_p" not in had
    assert had["gen_ai.request.stream"] is True
    assert had["gen_ai.response.time_to_first_chunk"] == 0.25
    assert had["gen_ai.usage.reasoning.output_tokens"] == 2
    assert had["gen_ai.usage.cache_creation.input_tokens"] == 3
    ((message),) = json.loads(str(had["gen_ai.output.messages"]))
    refused, called = message["parts"]
    assert refused == {"type": "text", "content": "\ud800 no"}
    assert (called["type"], called["name"]) == ("tool_call", "look")


def test_what_waits_for_people_is_no_error() -> None:
    history = History().sent().answered().classified().abandoned(kind=AWAITING_REVIEW)
    found = told(history.events)
    *_, evaluation = spans(found)
    assert evaluation.error is None and "error.type" not in evaluation.attributes
    assert evaluation.attributes["failproof_es.awaiting_review"] is True
    assert not [each for each in found if isinstance(each, EvaluationResultEvent)]


def test_an_evaluation_that_has_ended_is_not_kept() -> None:
    maker = TelemetryOf()
    for event in History().sent().answered().classified().scored().events:
        list(maker.take(event))
    assert not maker._under_way


@pytest.mark.parametrize(
    ("count", "length", "first"),
    [(0, 1, 0), (1, 9_000_000, 1), (2, 1_500_000, 1), (256, 1, 256), (257, 1, 256)],
)
def test_what_is_sent_at_once_is_bounded_in_number_and_in_bytes(
    count: int, length: int, first: int
) -> None:
    event = EvaluationResultEvent(1, 1, 1, {"text": "x" * length})
    assert len(first_part([event] * count)) == first


@pytest.mark.parametrize(
    "endpoint",
    [
        "",
        "localhost:4318",
        "ftp://x",
        "http://",
        "http://u:pw@x",
        "http://u:pw@x:99999",
        "http://x/?key=pw",
        "http://x:99999",
        "http://[x",
    ],
)
def test_what_is_no_address_of_a_collector_is_refused(endpoint: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        require_endpoint(endpoint, "--otlp")
    assert "pw" not in str(refused.value)


def test_addresses_of_collectors_are_taken() -> None:
    for endpoint in ("http://localhost:4318", "https://otel.example/base/"):
        require_endpoint(endpoint, "--otlp")


def test_the_body_of_a_request_that_continues_another_is_told_whole() -> None:
    history, bodies = History(), [b"x" * 5_000, b"x" * 5_000 + b"y", b"x" * 5_000 + b"yz"]
    sent, events = RequestBodies(), []
    for event in history.sent().failed().sent(2).failed().sent(3).answered().events:
        if isinstance(event, RequestSent):
            body = bodies[event.attempt - 1]
            event = event.model_copy(update=sent.fields("target", body))
            sent.add(event, body)
        events.append(event)
    requests = [event for event in events if isinstance(event, RequestSent)]
    assert [request.continues is not None for request in requests] == [False, True, True]
    ends = history.classified().scored().events[len(events) :]

    def shown(recorded: Iterable[Event]) -> list[tuple[object, object]]:
        found = spans(told(recorded, content=True))[:-1]
        names = ("failproof_es.request.body", "failproof_es.request.problem")
        return [(span.attributes.get(names[0]), span.attributes.get(names[1])) for span in found]

    assert shown([*events, *ends]) == [(body.decode(), None) for body in bodies]
    first = events[0].model_copy(update={"body": "X" * 5_000})
    assert all(problem for _, problem in shown([first, *events[1:], *ends]))
