"""The loop of one evaluation: decide, perform, append, evolve.

`next_action` decides; this module does what it says and records it. Starting and resuming
are this same loop entered with a different history.
"""

from __future__ import annotations

import asyncio
import hashlib
import traceback
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID

from failproof_es.case import Case
from failproof_es.configuration.schema import Model
from failproof_es.dialects.protocol import Deliberate, Dialect, OffersTools, StructuresJudgement
from failproof_es.engine.gate import Gate
from failproof_es.engine.judging import read_judgement
from failproof_es.engine.redaction import Redactor
from failproof_es.evaluation import (
    Classify,
    DeclareLost,
    Done,
    Evaluation,
    EvaluationKey,
    Failure,
    GiveUp,
    Judging,
    ReadJudgement,
    ScoreReply,
    Send,
    Transcript,
    evolve,
    fold,
    next_action,
)
from failproof_es.events import (
    AttemptLost,
    Classified,
    Encoding,
    ErrorRecorded,
    EvaluationAbandoned,
    EvaluationEvent,
    Event,
    Judged,
    Purpose,
    RequestSent,
    ResponseReceived,
    Scored,
    ToolCall,
)
from failproof_es.models.answered import require_model
from failproof_es.models.protocol import (
    FREE,
    Answer,
    Form,
    ModelError,
    PreparedRequest,
    Provider,
)
from failproof_es.models.waiting import wait_s
from failproof_es.store.journal import Journal

OnText = Callable[[EvaluationKey, RequestSent, str], None]
"""Takes each piece of a streamed answer as it comes, before it is on record. Must not raise."""


class Halted(Exception):
    """An error that would meet every evaluation alike: the run stops and can be resumed."""


@dataclass(frozen=True, slots=True)
class Target:
    """A model of this run, ready to be asked."""

    model: Model
    provider: Provider
    gate: Gate


@dataclass(frozen=True, slots=True)
class Interpreter:
    """Carries evaluations of one run to their end."""

    dialect: Dialect
    targets: Mapping[str, Target]
    judges: Mapping[str, Target]
    judging: Judging
    journal: Journal
    redactor: Redactor
    observe: Callable[[Event], None]
    on_text: OnText | None
    stop: asyncio.Event
    retry_attempts: int
    retry_delay_ms: int
    purposes: frozenset[Purpose]

    async def evaluate(
        self, key: EvaluationKey, case: Case, history: Sequence[Event]
    ) -> Evaluation:
        """Carry one evaluation on from `history`, to its end or to where `stop` is set.

        It also stands still where it asks somebody whom `purposes` leave out.

        Raises `Halted`, or a `JournalError` when nothing can be recorded any more.
        """
        stamp = _Stamp(key)
        state = fold(history)
        decided: list[EvaluationEvent] = []
        """Events that follow from what is on record: recorded with the next append."""
        while not isinstance(
            action := next_action(
                state,
                case,
                self.dialect,
                retry_attempts=self.retry_attempts,
                judging=self.judging,
            ),
            Done,
        ):
            if isinstance(action, Send):
                if action.purpose not in self.purposes:
                    break
                if action.failures:
                    await self._record(decided)
                    decided = []
                    await self._wait(action)
                if self.stop.is_set():
                    break
                target = self._target(key, action)
                if not target.gate.is_open:  # nobody knows for how long
                    await self._record(decided)
                    decided = []
                if not await target.gate.enter():
                    break
                try:
                    request = self._request(stamp, state, case, action, target)
                    await self._record([*decided, request])
                    state = evolve(state, request)
                    decided = []
                    events = await self._exchange(key, stamp, state, request, target)
                finally:
                    target.gate.leave()
            else:
                events = [await self._follow(stamp, state, case, action)]
            decided.extend(events)
            state = fold(events, state)
            event = events[-1]
            if isinstance(event, ErrorRecorded) and event.disposition == "halting":
                await self._record(decided)
                raise Halted(f"{event.judge or event.model_key}: {event.message}")
        await self._record(decided)
        return state

    # -- deciding is done: what follows without asking anyone ------------------------------

    async def _follow(
        self,
        stamp: _Stamp,
        state: Evaluation,
        case: Case,
        action: DeclareLost | Classify | ReadJudgement | ScoreReply | GiveUp | Done,
    ) -> EvaluationEvent:
        if isinstance(action, Classify) and isinstance(self.dialect, Deliberate):
            return await asyncio.to_thread(self._consequence, stamp, state, case, action)
        return self._consequence(stamp, state, case, action)

    def _consequence(
        self,
        stamp: _Stamp,
        state: Evaluation,
        case: Case,
        action: DeclareLost | Classify | ReadJudgement | ScoreReply | GiveUp | Done,
    ) -> EvaluationEvent:
        match action:
            case DeclareLost(request):
                reason = "sent by a process that ended before it recorded an outcome"
                return _lost(stamp, state, request, reason)
            case Classify(transcript):
                classification = self.dialect.classify(case, transcript)
                return Classified(
                    **stamp(state),
                    primary=classification.primary,
                    details=classification.details,
                    classifier=classification.classifier,
                    classifier_version=classification.version,
                )
            case ReadJudgement():
                reading = read_judgement(self.dialect, case, action)
                return Judged(
                    **stamp(state),
                    judge=action.judge,
                    verdict=reading.verdict,
                    problem=reading.problem,
                    final=action.last or reading.verdict is not None,
                    grader=reading.grader,
                    grader_version=reading.version,
                )
            case ScoreReply(classification, judgement):
                score = self.dialect.score(case, classification, judgement)
                if isinstance(score, Failure):
                    return EvaluationAbandoned(
                        **stamp(state), kind=score.kind, reason=score.message
                    )
                return Scored(
                    **stamp(state),
                    scores=score.scores,
                    reason=score.reason,
                    scorer=score.scorer,
                    scorer_version=score.version,
                )
            case GiveUp(failure):
                return EvaluationAbandoned(
                    **stamp(state), kind=failure.kind, reason=failure.message
                )
            case Done():
                raise AssertionError("a finished evaluation has no consequence")

    # -- asking ----------------------------------------------------------------------------

    def _target(self, key: EvaluationKey, action: Send) -> Target:
        if action.purpose == "target":
            return self.targets[key.model_key]
        if action.judge is None:
            raise Halted(
                f"dialect {self.dialect.name!r} asks for a judge and the configuration names none"
            )
        return self.judges[action.judge]

    def _request(
        self, stamp: _Stamp, state: Evaluation, case: Case, action: Send, target: Target
    ) -> RequestSent:
        prepared = target.provider.prepare(action.messages, self._form(state, case, action))
        return RequestSent(
            **stamp(state),
            purpose=action.purpose,
            judge=action.judge,
            turn=action.turn,
            attempt=action.attempt,
            model=target.model.model,
            parameters={
                "max_tokens": target.model.max_tokens,
                "temperature": target.model.temperature,
                **({} if target.model.seed is None else {"seed": target.model.seed}),
                **target.model.parameters,
            },
            tools=prepared.tools,
            endpoint=prepared.endpoint,
            body=prepared.body.decode("utf-8"),
            body_sha256=hashlib.sha256(prepared.body).hexdigest(),
        )

    def _form(self, state: Evaluation, case: Case, action: Send) -> Form:
        """Tools are for the model under test, a schema for its judges."""
        if action.purpose == "target" and isinstance(self.dialect, OffersTools):
            return Form(tools=self.dialect.tools(case))
        if action.purpose == "judge" and isinstance(self.dialect, StructuresJudgement):
            return Form(schema=self.dialect.judge_schema(case, Transcript(state.replies)))
        return FREE

    async def _exchange(
        self,
        key: EvaluationKey,
        stamp: _Stamp,
        state: Evaluation,
        request: RequestSent,
        target: Target,
    ) -> list[EvaluationEvent]:
        """One attempt and its outcome. The request is on record already.

        An answer of another model than was asked is recorded whole, and as an error. A request
        that a stop finds held back by its server is never sent, and lost.
        """
        sent_at = await target.gate.released()
        if sent_at is None:
            return [_lost(stamp, state, request, "not sent: stopped while the server held it back")]
        events = await self._attempt(key, stamp, state, request, target)
        _tell(target.gate, sent_at, events[-1])
        return events

    async def _attempt(
        self,
        key: EvaluationKey,
        stamp: _Stamp,
        state: Evaluation,
        request: RequestSent,
        target: Target,
    ) -> list[EvaluationEvent]:
        prepared = PreparedRequest(request.endpoint, request.body.encode("utf-8"), request.tools)
        try:
            answer = await target.provider.send(prepared, self._listener(key, request))
        except ModelError as error:
            return [self._error(stamp, state, request, error)]
        response = self._response(stamp, state, request, answer)
        try:
            require_model(target.model.model, target.model.version, answer.model)
        except ModelError as error:
            return [response, self._error(stamp, evolve(state, response), request, error)]
        return [response]

    def _listener(self, key: EvaluationKey, request: RequestSent) -> Callable[[str], None] | None:
        return partial(self.on_text, key, request) if self.on_text else None

    def _response(
        self, stamp: _Stamp, state: Evaluation, request: RequestSent, answer: Answer
    ) -> ResponseReceived:
        scrub = self.redactor.scrubbing()
        body, encoding = _as_text(scrub.data("body", answer.body))
        return ResponseReceived(
            **stamp(state),
            purpose=request.purpose,
            judge=request.judge,
            turn=request.turn,
            attempt=request.attempt,
            status=answer.status,
            headers=scrub.values("headers", answer.headers),
            body=body,
            body_encoding=encoding,
            text=scrub.text("text", answer.text),
            tool_calls=tuple(
                ToolCall(
                    id=scrub.optional("tool_calls", call.id),
                    name=scrub.text("tool_calls", call.name),
                    arguments=scrub.text("tool_calls", call.arguments),
                )
                for call in answer.tool_calls
            ),
            refusal=scrub.optional("refusal", answer.refusal),
            finish_reason=scrub.optional("finish_reason", answer.finish_reason),
            model=scrub.optional("model", answer.model),
            provider_request_id=scrub.optional("provider_request_id", answer.provider_request_id),
            usage=answer.usage,
            latency_ms=round(answer.latency_ms, 3),
            first_token_ms=answer.first_token_ms,
            redactions=scrub.record(),
        )

    def _error(
        self, stamp: _Stamp, state: Evaluation, request: RequestSent, error: ModelError
    ) -> ErrorRecorded:
        scrub = self.redactor.scrubbing()
        body: str | None = None
        encoding: Encoding = "utf-8"
        if error.body is not None:
            body, encoding = _as_text(scrub.data("body", error.body))
        return ErrorRecorded(
            **stamp(state),
            purpose=request.purpose,
            judge=request.judge,
            turn=request.turn,
            attempt=request.attempt,
            kind=error.kind,
            message=scrub.text("message", error.message),
            disposition=error.disposition,
            stack_trace=scrub.text("stack_trace", "".join(traceback.format_exception(error))),
            status=error.status,
            headers=scrub.values("headers", error.headers),
            body=body,
            body_encoding=encoding,
            retry_after_s=error.retry_after_s,
            latency_ms=error.latency_ms,
            redactions=scrub.record(),
        )

    async def _wait(self, action: Send) -> None:
        """Wait before an attempt after an error, or until the run is stopped."""
        seconds = wait_s(action.failures, self.retry_delay_ms, action.retry_after_s)
        try:
            async with asyncio.timeout(seconds):
                await self.stop.wait()
        except TimeoutError:
            return

    async def _record(self, events: Sequence[EvaluationEvent]) -> None:
        if not events:
            return
        await self.journal.append(*events)
        for event in events:
            self.observe(event)


def _tell(gate: Gate, sent_at: float, outcome: EvaluationEvent) -> None:
    """Let the gate know how the server bore the request."""
    if isinstance(outcome, ResponseReceived):
        gate.answered(sent_at)
    elif isinstance(outcome, ErrorRecorded) and outcome.disposition != "final":
        gate.refused(sent_at, outcome.status, outcome.retry_after_s)


def _lost(stamp: _Stamp, state: Evaluation, request: RequestSent, reason: str) -> AttemptLost:
    return AttemptLost(
        **stamp(state),
        purpose=request.purpose,
        judge=request.judge,
        turn=request.turn,
        attempt=request.attempt,
        reason=reason,
    )


class _Stamp:
    """What every event of one evaluation says about itself."""

    def __init__(self, key: EvaluationKey) -> None:
        self._key = key
        self._evaluation_id: UUID = key.evaluation_id

    def __call__(self, state: Evaluation) -> dict[str, Any]:
        return {
            "originator_id": self._evaluation_id,
            "originator_version": state.version + 1,
            "run_id": self._key.run_id,
            "timestamp": datetime.now(UTC),
            "prompt_id": self._key.prompt_id,
            "model_key": self._key.model_key,
            "repetition": self._key.repetition,
        }


def _as_text(body: bytes) -> tuple[str, Encoding]:
    """Bytes as JSON can hold them, losing none."""
    try:
        return body.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        return b64encode(body).decode("ascii"), "base64"
