"""Folds the events of one evaluation into its state. Pure.

Each event is checked against the events before it: `evolve` refuses an event that cannot come in
this state, or that answers, classifies or scores something else. The same function runs while an
evaluation is carried out, when its record is read, and when a run is validated. The state itself
is `failproof_es.core.evaluation_state.Evaluation`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

from failproof_es.core.evaluation_state import UNCOUNTED, Evaluation, stream_number
from failproof_es.core.history_errors import ImpossibleHistory, differing, require
from failproof_es.core.transcript import (
    GRADING_STOPPED,
    Classification,
    JudgeVerdict,
    ModelReply,
    Score,
)
from failproof_es.events import (
    VOIDS_ANSWER,
    AnswerImported,
    AttemptOrphaned,
    CarriedOver,
    Classified,
    ErrorRecorded,
    EvaluationAbandoned,
    EvaluationEvent,
    Event,
    Judged,
    RequestSent,
    ResponseReceived,
    Scored,
    Usage,
)

Changes = dict[str, Any]
_FIELDS = Evaluation._fields
_PLACES = {name: place for place, name in enumerate(_FIELDS)}


_NOTHING = Evaluation()


class _MutableEvaluation:
    """A mutable `Evaluation`, changed in place while a history is folded."""

    finished = Evaluation.finished
    import_error = Evaluation.import_error

    def __init__(self, state: Evaluation) -> None:
        vars(self).update(zip(_FIELDS, state, strict=True))


def fold(events: Iterable[Event], start: Evaluation | None = None) -> Evaluation:
    """The state after `events`, from the state `start`, or from none.

    Raises `ImpossibleHistory` if the events contradict each other.
    """
    state, _, impossible = fold_valid_prefix(events, start)
    if impossible is not None:
        raise impossible
    return state


def fold_valid_prefix(
    events: Iterable[Event],
    start: Evaluation | None = None,
    before: Callable[[Evaluation, Event], None] | None = None,
) -> tuple[Evaluation, int, ImpossibleHistory | None]:
    """Fold `events` up to the first contradiction, from the state `start`, or from none.

    Returns the state, the number of folded events, and the contradiction, `None` without one.
    `before` is called with the state before each event, which it must not keep, and the event.
    """
    growing = cast(Evaluation, _MutableEvaluation(start or _NOTHING))
    values = vars(growing)
    count = 0
    impossible: ImpossibleHistory | None = None
    try:
        for event in events:
            if before is not None:
                before(growing, event)
            values.update(_changes(growing, event))
            count += 1
    except ImpossibleHistory as error:
        impossible = error
    return Evaluation._make(values.values()), count, impossible  # still in the order of the fields


def evolve(state: Evaluation, event: Event) -> Evaluation:
    """The state after one more event. Raises `ImpossibleHistory` if it cannot follow this state."""
    values = list(state)  # `_replace` takes three times as long
    for name, value in _changes(state, event).items():
        values[_PLACES[name]] = value
    return Evaluation._make(values)


def _changes(state: Evaluation, event: Event) -> Changes:
    """The fields of the state that the event changes, with their new values.

    Raises `ImpossibleHistory` if the event cannot follow this state.
    """
    transition = _TRANSITIONS.get(type(event))
    if transition is None:
        topic = type(event).__name__
        raise ImpossibleHistory(f"{topic} does not belong to an evaluation", event)
    event = cast("EvaluationEvent", event)
    version = event.originator_version
    if version != state.version + 1:
        raise ImpossibleHistory(f"event {state.version + 1} of its stream is missing", event)
    if state.finished_at is not None:
        raise ImpossibleHistory("the evaluation has its final event already", event)
    identity: Changes | None = None
    if version == 1:
        identity = _read_identity(event)
    elif (
        event.originator_id,
        event.run_id,
        event.prompt_id,
        event.model_key,
        event.repetition,
    ) != (state.stream_id, state.run_id, state.prompt_id, state.model_key, state.repetition):
        _refuse_other_evaluation(state, event)
    changes = transition(state, event)
    changes["version"] = version
    changes["last"] = event
    if identity is not None:
        changes.update(identity)
    return changes


def _read_identity(event: EvaluationEvent) -> Changes:
    run_id, prompt_id = event.run_id, event.prompt_id
    model_key, repetition = event.model_key, event.repetition
    if run_id is None:
        raise ImpossibleHistory("it names no run", event)
    stream_id = event.originator_id
    if stream_number(run_id, prompt_id, model_key, repetition) != stream_id.int:
        raise ImpossibleHistory("its run, prompt, model and repetition have another stream", event)
    return {
        "run_id": run_id,
        "prompt_id": prompt_id,
        "model_key": model_key,
        "repetition": repetition,
        "stream_id": stream_id,
        "started_at": event.timestamp,
    }


def _refuse_other_evaluation(state: Evaluation, event: EvaluationEvent) -> None:
    differing(
        event,
        {
            "originator_id": state.stream_id,
            "run_id": state.run_id,
            "prompt_id": state.prompt_id,
            "model_key": state.model_key,
            "repetition": state.repetition,
        },
    )


_NO_ERRORS: Changes = {"failures": 0, "deferrals": 0, "deferred_since": None}
"""The changed fields when the next question begins."""


# -- asking ----------------------------------------------------------------------------------


def _apply_request(state: Evaluation, event: RequestSent) -> Changes:
    if state.in_flight is not None:
        raise ImpossibleHistory("a request is in flight already", event)
    imported = state.imported
    if imported is not None and (imported.given_by is None or event.purpose != "judge"):
        raise ImpossibleHistory("the answer is imported: nobody is asked", event)
    error = state.last_error
    if error is not None and error.disposition == "final":
        raise ImpossibleHistory("an error that is final came before it", event)
    turn, attempt = len(state.replies), state.attempts + 1
    if event.turn != turn or event.attempt != attempt:
        differing(event, {"turn": turn, "attempt": attempt})
    if event.purpose == "judge":
        _require_judge_is_next(state, event)
        return {"in_flight": event, "attempts": attempt}
    if event.judge is not None:
        raise ImpossibleHistory("it asks the model under test, and names a judge", event)
    if state.classification is not None:
        raise ImpossibleHistory("what the model answered is classified already", event)
    return {"in_flight": event, "attempts": attempt, "request": event}


def _require_judge_is_next(state: Evaluation, event: RequestSent) -> None:
    judge, error = event.judge, state.last_error
    require(judge is not None, event, "it names no judge")
    require(state.classification is not None, event, "nothing is classified that could be judged")
    unanswered = error is not None and error.purpose == "target"
    require(not unanswered, event, "the model under test has not answered")
    require(state.judge_reply is None, event, "the judge's last reply was not read")
    done = any(verdict.judge == judge for verdict in state.verdicts)
    require(not done, event, f"judge {judge} has said its last word")
    if state.attempts:
        current_judge = getattr(state.last, "judge", None)
        require(current_judge == judge, event, f"judge {current_judge} is asked, and not done")


def _require_same_request(
    event: ResponseReceived | ErrorRecorded | AttemptOrphaned, to: Event
) -> None:
    to = cast(RequestSent | ResponseReceived, to)
    if (
        event.attempt != to.attempt
        or event.turn != to.turn
        or event.judge != to.judge
        or event.purpose != to.purpose
    ):
        expected = {name: getattr(to, name) for name in ("purpose", "judge", "turn", "attempt")}
        differing(event, expected)


def _apply_response(state: Evaluation, event: ResponseReceived) -> Changes:
    request = state.in_flight
    if request is None:
        raise ImpossibleHistory("no request is in flight", event)
    _require_same_request(event, request)
    reply = ModelReply(
        event.turn,
        event.text,
        event.finish_reason,
        event.refusal,
        event.model,
        event.tool_calls,
        request.tools,
    )
    cleared = {**_NO_ERRORS, "in_flight": None, "last_error": None}
    if event.purpose == "judge":
        return {**cleared, "judge_reply": reply}
    return {
        **cleared,
        "attempts": 0,
        "response": event,
        "replies": (*state.replies, reply),
        "latency_ms": state.latency_ms + event.latency_ms,
        "usage": _add_usage(state.usage, event.usage),
    }


def _apply_error(state: Evaluation, event: ErrorRecorded) -> Changes:
    if state.in_flight is not None:
        _require_same_request(event, state.in_flight)
        message = "it voids an answer, and there is none"
        require(event.kind != VOIDS_ANSWER, event, message)
    else:
        answer = state.last
        if type(answer) is not ResponseReceived or event.kind != VOIDS_ANSWER:
            raise ImpossibleHistory("no request is in flight", event)
        _require_same_request(event, answer)
        require(event.disposition == "final", event, "it voids an answer, and is not final")
    return {"in_flight": None, "last_error": event, **_count_error(state, event)}


def _count_error(state: Evaluation, error: ErrorRecorded) -> Changes:
    """The changed counters of errors of the current question."""
    if error.disposition == "transient":
        return {"failures": state.failures + 1}
    if error.disposition == "deferred":
        since = state.deferred_since or error.timestamp
        return {"deferrals": state.deferrals + 1, "deferred_since": since}
    return {}


def _apply_lost_attempt(state: Evaluation, event: AttemptOrphaned) -> Changes:
    if state.in_flight is None:
        raise ImpossibleHistory("no request is in flight", event)
    _require_same_request(event, state.in_flight)
    return {"in_flight": None}


def _apply_import(_: Evaluation, event: AnswerImported) -> Changes:
    message = "what has begun here cannot be imported"
    require(event.originator_version == 1, event, message)
    require(bool(event.replies) or event.error is not None, event, "it has no reply and no error")
    replies = tuple(
        ModelReply(
            turn, reply.text, reply.finish_reason, reply.refusal, event.model, reply.tool_calls
        )
        for turn, reply in enumerate(event.replies)
    )
    return {
        "imported": event,
        "replies": replies,
        "latency_ms": event.latency_ms or 0.0,
        "usage": event.usage,
    }


def _add_usage(usage: Usage, added: Usage) -> Usage:
    if usage is UNCOUNTED:
        return added

    def total(a: int | None, b: int | None) -> int | None:
        return None if a is None and b is None else (a or 0) + (b or 0)

    return Usage(
        input_tokens=total(usage.input_tokens, added.input_tokens),
        output_tokens=total(usage.output_tokens, added.output_tokens),
        cached_input_tokens=total(usage.cached_input_tokens, added.cached_input_tokens),
        cache_write_tokens=total(usage.cache_write_tokens, added.cache_write_tokens),
        cache_write_1h_tokens=total(usage.cache_write_1h_tokens, added.cache_write_1h_tokens),
        reasoning_tokens=total(usage.reasoning_tokens, added.reasoning_tokens),
    )


# -- grading ---------------------------------------------------------------------------------


def _ends_question(event: Event | None, purpose: str) -> bool:
    """Whether the event ends a question of this purpose: an answer, or an error that may end it."""
    if type(event) is ResponseReceived:
        return event.purpose == purpose
    if type(event) is ErrorRecorded:
        return event.purpose == purpose and event.disposition in ("transient", "final")
    return False


def _apply_classification(state: Evaluation, event: Classified) -> Changes:
    require(state.classification is None, event, "what was answered is classified already")
    message = "it does not follow an answer of the model under test, nor an error that ends it"
    answered = _ends_question(state.last, "target") or type(state.last) is AnswerImported
    stopped = event.details.get("rule") == GRADING_STOPPED and state.in_flight is None
    require(answered or stopped, event, message)
    classification = Classification(
        event.primary, event.details, event.classifier, event.classifier_version
    )
    return {**_NO_ERRORS, "attempts": 0, "classification": classification}


def _apply_judgement(state: Evaluation, event: Judged) -> Changes:
    last = state.last
    if not _ends_question(last, "judge") or getattr(last, "judge", None) != event.judge:
        _require_external_verdict(state, event)
    elif type(last) is ErrorRecorded:
        require(event.verdict is None, event, "it gives a verdict, and the judge did not answer")
        require(event.final, event, "the judge is asked again, after an error that ends it")
    require(event.final or event.verdict is None, event, "it gives a verdict, and is not final")
    read = {**_NO_ERRORS, "judge_reply": None, "last_error": None}
    if not event.final:
        return {**read, "unread": state.unread + 1}
    reply = None if event.problem is None else state.judge_reply
    words = None if reply is None else reply.text_or_refusal
    verdict = JudgeVerdict(event.judge, event.verdict, event.problem, words)
    return {**read, "attempts": 0, "unread": 0, "verdicts": (*state.verdicts, verdict)}


def _require_external_verdict(state: Evaluation, event: Judged) -> None:
    """Require that a verdict without a judge is a program's and replaces all other verdicts."""
    own = event.grader == event.judge and event.final
    require(own, event, "it does not follow what this judge answered")
    require(state.classification is not None, event, "nothing is classified that could be judged")
    require(state.in_flight is None, event, "a request is in flight")
    unanswered = state.last_error is not None and state.last_error.purpose == "target"
    unanswered = unanswered or state.import_error is not None
    require(not unanswered, event, "the model under test has not answered")
    require(not state.verdicts, event, "a judge has given its verdict already")


def _require_graded(state: Evaluation, event: Scored | EvaluationAbandoned) -> None:
    """Require that the classification, and the judging if there is any, is complete."""
    require(state.classification is not None, event, "nothing is classified")
    last = state.last
    done = type(last) is Classified or (type(last) is Judged and last.final)
    require(done, event, "it does not follow a classification or a last verdict")


def _apply_score(state: Evaluation, event: Scored) -> Changes:
    _require_graded(state, event)
    usable = state.last_error is None and state.import_error is None
    require(usable, event, "it scores what ended in an error")
    spoken = not state.verdicts or any(verdict.verdict is not None for verdict in state.verdicts)
    require(spoken, event, "not one judge gave a verdict")
    score = Score(
        event.scores, event.reason, event.scorer, event.scorer_version,
        passed=event.passed, graders=event.graders,
    )  # fmt: skip
    return {"score": score, "finished_at": event.timestamp}


def _apply_abandonment(state: Evaluation, event: EvaluationAbandoned) -> Changes:
    if event.kind == GRADING_STOPPED:
        require(state.classification is not None, event, "nothing is classified")
        require(state.in_flight is None, event, "a request is in flight")
        return {"abandoned": event, "finished_at": event.timestamp}
    _require_graded(state, event)
    error = state.last_error
    if state.import_error is not None:
        message = (
            f"its kind is {event.kind}, that of the source's error is {state.import_error.kind}"
        )
        require(event.kind == state.import_error.kind, event, message)
    elif error is not None and error.purpose == "target":
        message = f"its kind is {event.kind}, that of the error is {error.kind}"
        require(event.kind == error.kind, event, message)
    else:
        message = "it tells of an error that is not on record"
        require(event.kind != VOIDS_ANSWER, event, message)
    return {"abandoned": event, "finished_at": event.timestamp}


def _apply_carry_over(_: Evaluation, event: CarriedOver) -> Changes:
    message = "what has begun here cannot be carried over"
    require(event.originator_version == 1, event, message)
    elsewhere = event.source_run_id != event.run_id
    require(elsewhere, event, "it is carried over from its own run")
    return {"carried_over": event, "finished_at": event.timestamp}


_TRANSITIONS: dict[type[Event], Callable[[Evaluation, Any], Changes]] = {
    RequestSent: _apply_request,
    ResponseReceived: _apply_response,
    ErrorRecorded: _apply_error,
    AttemptOrphaned: _apply_lost_attempt,
    Classified: _apply_classification,
    Judged: _apply_judgement,
    Scored: _apply_score,
    EvaluationAbandoned: _apply_abandonment,
    CarriedOver: _apply_carry_over,
    AnswerImported: _apply_import,
}
"""The transition of every kind of event that belongs to an evaluation."""
