"""Runs an evaluation to its end without a server, and yields every state of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from failproof_es.core.case import Case, Turn
from failproof_es.core.evaluation import (
    Defer,
    Done,
    Evaluation,
    EvaluationKey,
    Judging,
    ModelReply,
    Send,
    evolve,
    next_action,
)
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.core.request_body import shortened_body
from failproof_es.dialects.protocol import Dialect
from failproof_es.engine.drive.grading.local_actions import derive_event
from failproof_es.events import ErrorRecorded, EvaluationEvent, RequestSent, ResponseReceived

KEY = EvaluationKey(UUID(int=1), UUID(int=2), "model", 1)
JUDGE = "judge"
_MOST_STEPS = 200


class _Header:
    """Creates event headers with timestamps one second apart."""

    def __call__(self, state: Evaluation) -> dict[str, Any]:
        version = state.version + 1
        return {
            "originator_id": KEY.evaluation_id,
            "originator_version": version,
            "run_id": KEY.run_id,
            "timestamp": datetime.fromtimestamp(1_700_000_000 + version, UTC),
            "prompt_id": KEY.prompt_id,
            "model_key": KEY.model_key,
            "repetition": KEY.repetition,
        }


def stages(
    dialect: Dialect,
    case: Case,
    answer: Callable[[int], ModelReply | None],
    judged: Callable[[Sequence[Turn]], str] | None = None,
) -> Iterator[Evaluation]:
    """Yield the state of one evaluation after each of its events, as in the engine.

    `answer` returns the reply to each turn, counted from 0, or `None` for an error that ends the
    evaluation. `judged` returns the judge's reply to its messages; without it there is no judge.
    Raises `AssertionError` if the evaluation does not end within 200 steps.
    """
    header: Any = _Header()
    judging = Judging((JUDGE,) if judged else (), "majority", 1)
    state = Evaluation()
    for _ in range(_MOST_STEPS):
        action = next_action(state, case, dialect, retry_attempts=0, judging=judging)
        if isinstance(action, Done):
            return
        assert not isinstance(action, Defer)
        events = (
            _make_exchange(header, state, action, answer, judged)
            if isinstance(action, Send)
            else [derive_event(dialect, header, state, case, action)]
        )
        for event in events:
            state = evolve(state, event)
            yield state
    raise AssertionError(f"case {case.case_id} has not ended after {_MOST_STEPS} steps")


def outcome_of(state: Evaluation) -> EvaluationOutcome:
    """The outcome of a state that `stages` yields: its answer and its verdict alone."""
    classification, score = state.classification, state.score
    return EvaluationOutcome(
        evaluation_id=KEY.evaluation_id,
        run_id=KEY.run_id,
        prompt_id=KEY.prompt_id,
        model_key=KEY.model_key,
        repetition=KEY.repetition,
        status="scored" if score else "abandoned" if state.abandoned else "unfinished",
        answer=state.replies[-1].text_or_refusal if state.replies else None,
        class_=classification.primary if classification else None,
        details=classification.details if classification else {},
        judges=state.verdicts,
        scores=score.scores if score else {},
        passed=score.passed if score else None,
        reason=score.reason if score else state.abandoned.reason if state.abandoned else "",
        ended_kind=state.abandoned.kind if state.abandoned else None,
    )


def _make_exchange(
    header: Any,
    state: Evaluation,
    action: Send,
    answer: Callable[[int], ModelReply | None],
    judged: Callable[[Sequence[Turn]], str] | None,
) -> list[EvaluationEvent]:
    """The events of one request and its reply."""
    which: dict[str, Any] = {
        "purpose": action.purpose,
        "judge": action.judge,
        "turn": action.turn,
        "attempt": action.attempt,
    }
    request = RequestSent(
        **header(state), **which, model="model", parameters={}, endpoint="http://x",
        **shortened_body(b"{}", None),
    )  # fmt: skip
    after = header(evolve(state, request))
    if action.purpose == "judge":
        text = judged(action.messages) if judged else ""
        reply: ModelReply | None = ModelReply(action.turn, text, "stop")
    else:
        reply = answer(action.turn)
    if reply is None:
        error = ErrorRecorded(
            **after, **which, kind="http_500", message="it broke", disposition="final",
            stack_trace="",
        )  # fmt: skip
        return [request, error]
    response = ResponseReceived(
        **after, **which, status=200, headers={}, body="{}", text=reply.text,
        finish_reason=reply.finish_reason, refusal=reply.refusal, model="model", latency_ms=5.0,
    )  # fmt: skip
    return [request, response]
