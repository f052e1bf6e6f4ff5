"""The loop of one evaluation: decide, perform, append, evolve.

`next_action` decides; this module performs the action and records it. Starting and resuming
are the same loop, entered with a different history.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from failproof_es.core.case import Case
from failproof_es.core.evaluation import (
    Defer,
    Done,
    Evaluation,
    EvaluationKey,
    Send,
    WaitBudget,
    evolve,
    fold,
)
from failproof_es.core.request_body import RequestBodies
from failproof_es.engine.drive.appender import Appender
from failproof_es.engine.drive.attempt_events import (
    error_recorded,
    response_received,
)
from failproof_es.engine.drive.grading.grader import Grader
from failproof_es.engine.drive.orphaned_event import attempt_orphaned
from failproof_es.engine.drive.redaction import Redactor, StreamRedactor
from failproof_es.engine.limits.concurrency_limiter import ConcurrencyLimiter
from failproof_es.engine.limits.key_share import tokens_used
from failproof_es.engine.limits.spend_limiter import (
    SpendCeilingReached,
    SpendLimiter,
    SpendRefused,
)
from failproof_es.engine.requests import Requests, Target
from failproof_es.events import (
    ErrorRecorded,
    EvaluationEvent,
    Event,
    Purpose,
    RequestSent,
    ResponseReceived,
)
from failproof_es.models import sent_parameters
from failproof_es.models.backoff import wait_s
from failproof_es.models.protocol import (
    ModelError,
    PreparedRequest,
)
from failproof_es.models.single_attempt import send_once
from failproof_es.problems import InvalidInput
from failproof_es.store.writing.event_header import EventHeader
from failproof_es.support import clock

OnText = Callable[[EvaluationKey, RequestSent, str], None]
"""Called with each piece of a streamed answer as it arrives, before it is recorded, with secrets
replaced. Must not raise."""


class Halted(Exception):
    """An error that stops the run, which can be resumed later."""


class AtCeiling(Halted):
    """Stops the run: the next request does not fit below the run's spend ceiling."""


class DeferredTooLong(Halted):
    """A server refused one evaluation for too long, perhaps while it answered others.

    That evaluation stays pending; others may go on.
    """


@dataclass(slots=True)
class _LastWait:
    """The last request for which an evaluation waited until tokens or budget were free.

    Both may be kept for the request until it is sent; `give_back` releases them.
    """

    limiter: ConcurrencyLimiter | None = None
    request: RequestSent | None = None

    def give_back(self, spending: SpendLimiter | None) -> None:
        """Release the tokens and the budget that are kept for the request, if any request waited.

        `spending` is the run's spend limiter; `None` if the run has no ceiling.
        """
        if self.request is None:
            return
        if self.limiter is not None:
            self.limiter.withdraw(self.request)
        if spending is not None:
            spending.withdraw(self.request)


class _RecordedRequest(NamedTuple):
    """A request on record, and the bytes that are sent."""

    event: RequestSent
    prepared: PreparedRequest


@dataclass(frozen=True, slots=True)
class Interpreter:
    """Runs evaluations of one run to their end: grades, asks, and records every step."""

    grader: Grader
    targets: Mapping[str, Target]
    judges: Mapping[str, Target]
    journal: Appender
    redactor: Redactor
    observe: Callable[[Event], None]
    on_text: OnText | None
    stop: asyncio.Event
    retry_delay_ms: int
    purposes: frozenset[Purpose]
    may_send: Callable[[], bool] = lambda: True
    """Whether a request may be sent now: false once another process may hold the lease."""
    spending: SpendLimiter | None = None
    """Holds the run below its spend ceiling, if it has one."""
    _requests: Requests = field(init=False)

    def __post_init__(self) -> None:
        requests = Requests(self.grader.dialect, self.targets, self.judges)
        object.__setattr__(self, "_requests", requests)

    async def evaluate(
        self, key: EvaluationKey, case: Case, history: Sequence[Event]
    ) -> Evaluation:
        """Continue one evaluation from `history` to its end, or until `stop` is set.

        Also stops before a request whose purpose is not among `purposes`. Returns the evaluation's
        state, finished or not. Raises `Halted` if the run must stop, `DeferredTooLong` if only this
        evaluation must wait, or a `JournalError` if nothing can be recorded any more.
        """
        waited = _LastWait()
        try:
            return await self._evaluate(key, case, history, waited)
        finally:
            waited.give_back(self.spending)

    async def _evaluate(
        self, key: EvaluationKey, case: Case, history: Sequence[Event], waited: _LastWait
    ) -> Evaluation:
        header = EventHeader.of_evaluation(key)
        patience: WaitBudget | None = None
        """The wait budget, from the first request of this drive on; earlier drives do not count."""
        state, bodies = fold(history), RequestBodies(history)
        decided: list[EvaluationEvent] = []
        """Derived events, appended with the next request or at the end."""
        while True:
            steps = await self.grader.advance(key, case, state, wait_budget=patience)
            decided.extend(steps.events)
            state, action = steps.state, steps.action
            if isinstance(action, Done):
                break
            if isinstance(action, Defer):
                await self._record(decided)
                raise DeferredTooLong(self._defer_message(action.error))
            if action.purpose not in self.purposes:
                break
            if action.failures:
                await self._record(decided)
                decided = []
                await self._wait(action)
            if self.stop.is_set():
                break
            target = self._target(key, action)
            if not target.limiter.is_open:  # it may stay closed for long
                await self._record(decided)
                decided = []
            if not await target.limiter.acquire():
                if (refused := target.limiter.refused_elsewhere) is not None:
                    await self._record(decided)
                    raise Halted(f"{action.judge or key.model_key}: {refused}")
                break
            sent_at = permit = used = None
            try:
                if not self.may_send():
                    break
                prepared = self._prepare_request(state, case, action, target)
                request = _request(header, state, action, target, prepared, bodies)
                permit = target.limiter.reserve_tokens(request)
                affordable = permit is not None and self._reserve(request)
                if permit is not None and affordable:
                    await self._record([*decided, request])
                    bodies.add(request, prepared.body)
                    state = evolve(state, request)
                    decided = []
                    patience = patience or WaitBudget(target.limiter.max_wait_s, request.timestamp)
                    sent_at = await target.limiter.wait_to_send(permit)
                    recorded = _RecordedRequest(request, prepared)
                    events = await self._exchange(key, header, state, recorded, target, sent_at)
                    used = tokens_used(events[0])
            finally:
                was_sent = sent_at is not None
                target.limiter.release(was_sent=was_sent, permit=permit, used=used)
            if not affordable:  # requests in flight may need its slot and tokens to end
                await self._record(decided)
                decided = []
                waited.limiter, waited.request = target.limiter, request
                if permit is None:
                    await target.limiter.wait_for_tokens(request, self.stop)
                else:
                    await self._wait_for_room(request)
                continue
            trouble = self._halting_error(events[-1]) or self._broken_ceiling(events[0])
            # Durable before it is graded: after a crash in grading, the request is not repeated.
            await self._record(events)
            for event in events:
                state = evolve(state, event)
            if trouble is not None:
                raise Halted(trouble)
        await self._record(decided)
        return state

    # -- stopping --------------------------------------------------------------------------

    def _halting_error(self, event: EvaluationEvent) -> str | None:
        """The reason to stop the whole run after this event; `None` if the run may go on."""
        if not isinstance(event, ErrorRecorded):
            return None
        who = event.judge or event.model_key
        if event.disposition == "halting" or self._target_of(event).answering.is_mistaken(event):
            return f"{who}: {event.message}"
        reason = self._target_of(event).limiter.pause_reason
        return None if reason is None else f"{who}: {reason}: {event.message}"

    def _defer_message(self, error: ErrorRecorded) -> str:
        limiter = self._target_of(error).limiter
        return (
            f"{error.judge or error.model_key}: {limiter.server} turned it away for the "
            f"{limiter.max_wait_s:g} s of `execution.rate_limit_wait_ms`: {error.message}"
        )

    # -- spending --------------------------------------------------------------------------

    def _reserve(self, request: RequestSent) -> bool:
        """Reserve the request's worst-case cost; false if it does not fit below the ceiling."""
        return self.spending is None or self.spending.reserve(request)

    async def _wait_for_room(self, request: RequestSent) -> None:
        """Wait until the request may fit below the ceiling, or the run stops.

        Raises `AtCeiling` if it never can, `Halted` if its cost has no bound.
        """
        assert self.spending is not None
        try:
            await self.spending.wait_for_room(request, self.stop)
        except SpendCeilingReached as reached:
            raise AtCeiling(str(reached)) from None
        except SpendRefused as refused:
            raise Halted(str(refused)) from None

    def _broken_ceiling(self, outcome: EvaluationEvent) -> str | None:
        """The reason to stop the whole run: this outcome cost more than was reserved for its
        request. `None` if it did not, or if the run has no ceiling."""
        return None if self.spending is None else self.spending.broken_by(outcome)

    # -- asking ----------------------------------------------------------------------------

    def _target_of(self, event: ErrorRecorded) -> Target:
        return self.targets[event.model_key] if event.judge is None else self.judges[event.judge]

    def _target(self, key: EvaluationKey, action: Send) -> Target:
        target = self._requests.target(key.model_key, action)
        if target is None:
            raise Halted(
                f"dialect {self.grader.dialect.name!r} asks for a judge and the configuration "
                "names none"
            )
        return target

    def _prepare_request(
        self, state: Evaluation, case: Case, action: Send, target: Target
    ) -> PreparedRequest:
        try:
            return self._requests.prepare(state, case, action, target)
        except InvalidInput as error:  # raised by a user's own class
            raise Halted(self.redactor.redact(str(error))) from None

    async def _exchange(
        self,
        key: EvaluationKey,
        header: EventHeader,
        state: Evaluation,
        recorded: _RecordedRequest,
        target: Target,
        sent_at: float | None,
    ) -> list[EvaluationEvent]:
        """Send one recorded request, and return the events of its outcome, which are not recorded
        yet. `sent_at` is the monotonic time at which the limiter let it pass; `None` if the run
        stopped while the server held it back. Then, or if the lease may have ended, the request is
        not sent and is recorded as orphaned. An answer of another model than the requested one is
        recorded whole, followed by an error."""
        request = recorded.event
        if sent_at is None:
            reason = "not sent: stopped while the server held it back"
            return [attempt_orphaned(header, state, request, reason)]
        if not self.may_send():
            reason = "not sent: the lease under which it was recorded may have ended"
            return [attempt_orphaned(header, state, request, reason)]
        events = await self._attempt(key, header, state, recorded, target)
        _notify_limiter(target.limiter, sent_at, events)
        return events

    async def _attempt(
        self,
        key: EvaluationKey,
        header: EventHeader,
        state: Evaluation,
        recorded: _RecordedRequest,
        target: Target,
    ) -> list[EvaluationEvent]:
        request, prepared = recorded
        self._redact_tokens(target)
        streaming = self._streaming(key, request)
        on_text = None if streaming is None else streaming.piece
        try:
            answer = await send_once(target.provider, prepared, on_text, target.stuck_after_s)
        except ModelError as error:
            self._redact_tokens(target)
            error.disposition = target.limiter.disposition_of(error, key.prompt_id)
            return [error_recorded(header, state, request, error, self.redactor)]
        self._redact_tokens(target)
        if streaming is not None:
            if answer.first_token_ms is None:  # it was not streamed
                streaming.piece(answer.text)
            streaming.end()
        response = response_received(header, state, request, answer, self.redactor)
        try:
            target.answering.require(target.model, answer.model)
        except ModelError as error:
            after = evolve(state, response)
            return [response, error_recorded(header, after, request, error, self.redactor)]
        return [response]

    def _redact_tokens(self, target: Target) -> None:
        """Redact the access tokens that the provider has obtained: a server may repeat them."""
        tokens = getattr(target.provider, "tokens", None)
        if tokens is not None:
            self.redactor.also(tokens.given)

    def _streaming(self, key: EvaluationKey, request: RequestSent) -> StreamRedactor | None:
        if self.on_text is None:
            return None
        return self.redactor.for_stream(partial(self.on_text, key, request))

    async def _wait(self, action: Send) -> None:
        """Wait for the delay before the next attempt after an error, or until the run is stopped.

        Returns at once if no error came before. The wait is counted from the error's event, which
        may be from an earlier drive.
        """
        error = action.last_error
        if error is None:
            return
        seconds = wait_s(
            action.failures,
            self.retry_delay_ms,
            error.retry_after_s,
            deferred=error.disposition == "deferred",
        )
        passed_s = (clock.utc_now() - error.timestamp).total_seconds()
        seconds -= min(max(passed_s, 0.0), seconds)
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
            if self.spending is not None:
                self.spending.recorded(event)
            self.observe(event)


def _request(
    header: EventHeader,
    state: Evaluation,
    action: Send,
    target: Target,
    prepared: PreparedRequest,
    bodies: RequestBodies,
) -> RequestSent:
    return RequestSent(
        **header(state),
        purpose=action.purpose,
        judge=action.judge,
        turn=action.turn,
        attempt=action.attempt,
        model=target.model.model,
        parameters=sent_parameters(target.model),
        tools=prepared.tools,
        endpoint=prepared.endpoint,
        **bodies.fields(action.purpose, prepared.body),
    )


def _notify_limiter(
    limiter: ConcurrencyLimiter, sent_at: float, outcome: Sequence[EvaluationEvent]
) -> None:
    """Tell the limiter the outcome of the request sent at `sent_at`, so it can adapt its limit.

    Only the first event of `outcome` counts: an answer, even of another model than the requested
    one, or an error whose disposition is not `final`. After any other event the limiter learns
    nothing.
    """
    first = outcome[0]
    if isinstance(first, ResponseReceived):
        limiter.on_answer(sent_at)
    elif isinstance(first, ErrorRecorded) and first.disposition != "final":
        deferred = first.disposition == "deferred"
        limiter.on_error(sent_at, first.kind, first.retry_after_s, deferred=deferred)
