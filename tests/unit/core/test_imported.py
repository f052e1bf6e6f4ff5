"""An imported answer is a reply that nobody asked for: it is graded, and nothing is sent."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from failproof_es.core.case import Case, Turn, prompt_id
from failproof_es.core.evaluation import (
    Abandon,
    Classify,
    Done,
    Evaluation,
    EvaluationKey,
    ImpossibleHistory,
    ScoreReply,
    evolve,
    fold,
    next_action,
)
from failproof_es.core.outcome import outcome_of
from failproof_es.dialects import dialect_named
from failproof_es.engine.drive.grading.local_actions import derive_event
from failproof_es.events import (
    AnswerImported,
    EvaluationEvent,
    ImportedError,
    ImportedReply,
    RequestSent,
    Usage,
)
from failproof_es.store.writing.event_header import EventHeader

RUN = UUID(int=5)
DIALECT = dialect_named("checks")
WHEN = datetime(2026, 11, 23, tzinfo=UTC)


def case(*checks: dict[str, Any]) -> Case:
    turns = (Turn(role="user", content="Say 42"),)
    return Case(
        dialect="checks", case_id="a", suite_id="s", turns=turns,
        expectation={"checks": list(checks)},
    )  # fmt: skip


def imported(of: Case, text: str | None = "It is 42.", **fields: Any) -> AnswerImported:
    key = EvaluationKey(RUN, prompt_id(of.digest()), "m")
    given = {
        "source_place": "sample 1",
        "sample_sha256": "ab",
        "replies": () if text is None else (ImportedReply(text=text, finish_reason="stop"),),
        **fields,
    }
    return AnswerImported(**EventHeader.of_evaluation(key).after(0), **given)


def carried_on(of: Case, first: AnswerImported) -> tuple[Evaluation, list[EvaluationEvent]]:
    """Everything that follows, as an import records it."""
    key = EvaluationKey(RUN, prompt_id(of.digest()), "m")
    state = evolve(Evaluation(), first)
    events: list[EvaluationEvent] = [first]
    while not isinstance(action := next_action(state, of, DIALECT, retry_attempts=9), Done):
        event = derive_event(DIALECT, EventHeader.of_evaluation(key), state, of, action)  # type: ignore[arg-type]
        events.append(event)
        state = evolve(state, event)
    return state, events


CONTAINS = {"kind": "contains", "values": ["42"]}


@pytest.mark.parametrize(
    ("checks", "text", "topics", "passed"),
    [
        ((CONTAINS,), "It is 42.", "Classified Scored", True),
        ((CONTAINS,), "43", "Classified Scored", False),
        ((), "It is 42.", "Classified EvaluationAbandoned", None),
    ],
)
def test_it_is_classified_and_scored_without_a_request(
    checks: Any, text: str, topics: str, passed: bool | None
) -> None:
    of = case(*checks)
    state, events = carried_on(of, imported(of, text, latency_ms=2.5, usage=Usage(input_tokens=3)))
    assert [type(each).__name__ for each in events[1:]] == topics.split()
    key = EvaluationKey(RUN, prompt_id(of.digest()), "m")
    outcome = outcome_of(key, events, {})
    assert (outcome.requests, outcome.errors, outcome.spending) == (0, (), {})
    assert outcome.response_ms == () and outcome.cost_usd is None
    assert (outcome.answer, outcome.latency_ms, outcome.input_tokens) == (text, 2.5, 3)
    assert outcome.passed is passed and outcome.impossible is None
    assert outcome.awaiting_review is (passed is None) and not outcome.lost
    assert state.finished


@pytest.mark.parametrize("text", [None, "half an answer"])
def test_an_error_of_the_source_abandons_it_as_lost(text: str | None) -> None:
    of = case(CONTAINS)
    error = ImportedError(kind="source_error", message="it broke")
    _, events = carried_on(of, imported(of, text, error=error))
    outcome = outcome_of(EvaluationKey(RUN, prompt_id(of.digest()), "m"), events, {})
    assert (outcome.status, outcome.error_kind, outcome.lost) == ("abandoned", "source_error", True)
    assert (outcome.requests, outcome.answer) == (0, text)


def test_each_prefix_of_the_history_goes_on_to_the_same_end() -> None:
    of = case(CONTAINS)
    _, events = carried_on(of, imported(of))
    for count, wanted in ((1, Classify), (2, ScoreReply), (3, Done)):
        action = next_action(fold(events[:count]), of, DIALECT, retry_attempts=0)
        assert isinstance(action, wanted)
    error = ImportedError(kind="k", message="m")
    _, events = carried_on(of, imported(of, None, error=error))
    assert isinstance(next_action(fold(events[:2]), of, DIALECT, retry_attempts=9), Abandon)


def test_what_was_imported_is_never_asked_and_what_was_asked_never_imported() -> None:
    of = case(CONTAINS)
    first = imported(of)
    state = evolve(Evaluation(), first)
    key = EvaluationKey(RUN, prompt_id(of.digest()), "m")
    sent: dict[str, Any] = {
        "purpose": "target", "turn": 0, "attempt": 1, "model": "m", "parameters": {},
        "endpoint": "e", "body": "b", "body_sha256": "s",
    }  # fmt: skip
    header = EventHeader.of_evaluation(key)
    for turn in (0, 1):
        with pytest.raises(ImpossibleHistory, match=r"nobody is asked|turn"):
            evolve(state, RequestSent(**header.after(1), **{**sent, "turn": turn}))
    asked = evolve(Evaluation(), RequestSent(**header.after(0), **sent))
    again = first.model_copy(update={"originator_version": 2})
    with pytest.raises(ImpossibleHistory, match="cannot be imported"):
        evolve(asked, again)
    with pytest.raises(ImpossibleHistory, match="no reply and no error"):
        evolve(Evaluation(), imported(of, None))
