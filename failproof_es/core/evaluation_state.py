"""The state of one evaluation, and the key that names it. Pure.

`failproof_es.core.evolution` folds events into it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from typing import NamedTuple
from uuid import UUID

from failproof_es.core.case import digest_number
from failproof_es.core.transcript import Classification, JudgeVerdict, ModelReply, Score
from failproof_es.events import (
    AnswerImported,
    CarriedOver,
    ErrorRecorded,
    EvaluationAbandoned,
    EvaluationEvent,
    ImportedError,
    RequestSent,
    ResponseReceived,
    Usage,
)


@dataclass(frozen=True)
class EvaluationKey:
    """The identity of an evaluation: run, case, model and repetition (from 1)."""

    run_id: UUID
    prompt_id: UUID
    model_key: str
    repetition: int = 1

    @cached_property
    def evaluation_id(self) -> UUID:
        """The id of the evaluation and of its stream: the same for the same key on every machine.

        It is derived from the key alone.
        """
        return stream_of(self.run_id, self.prompt_id, self.model_key, self.repetition)


@lru_cache(maxsize=1_024, typed=True)  # planning computes each id several times
def stream_of(run_id: UUID, prompt_id: UUID, model_key: str, repetition: int) -> UUID:
    """Stream id of the evaluation with this run, case, model and repetition."""
    return UUID(int=stream_number(run_id, prompt_id, model_key, repetition))


def stream_number(run_id: UUID, prompt_id: UUID, model_key: str, repetition: int) -> int:
    """`stream_of` as an integer, which compares faster than a `UUID`."""
    text = f"{_run_text(run_id)}\n{prompt_id}\n{model_key}\n{repetition}"
    return digest_number(hashlib.sha256(text.encode()).digest())


_last_run: tuple[UUID | None, str] = None, ""


def _run_text(run_id: UUID) -> str:
    """The run id as text; the last one is kept, because consecutive evaluations share a run."""
    global _last_run
    run, text = _last_run
    if run is not run_id:
        text = str(run_id)
        _last_run = run_id, text
    return text


UNCOUNTED = Usage()
"""The usage before the first answer."""


class Evaluation(NamedTuple):
    """The state of an evaluation, folded from its events. A tuple, because it is copied often."""

    version: int = 0
    run_id: UUID | None = None
    prompt_id: UUID | None = None
    model_key: str | None = None
    repetition: int | None = None
    stream_id: UUID | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    last: EvaluationEvent | None = None
    """The last event."""
    in_flight: RequestSent | None = None
    attempts: int = 0
    """Requests sent for the current turn, or to the current judge, orphaned ones included."""
    failures: int = 0
    """Transient errors of the current question: these use up the retry bound."""
    deferrals: int = 0
    """Number of refusals for now of the current question by the server."""
    deferred_since: datetime | None = None
    """Timestamp of the first of these refusals."""
    last_error: ErrorRecorded | None = None
    request: RequestSent | None = None
    """The last request to the model under test."""
    response: ResponseReceived | None = None
    """The last response of the model under test."""
    replies: tuple[ModelReply, ...] = ()
    judge_reply: ModelReply | None = None
    """The last reply of a judge, while it is unread."""
    verdicts: tuple[JudgeVerdict, ...] = ()
    """The result of each judge that is done, in the order of asking."""
    unread: int = 0
    """Replies of the current judge that held no verdict."""
    latency_ms: float = 0.0
    usage: Usage = UNCOUNTED
    classification: Classification | None = None
    score: Score | None = None
    abandoned: EvaluationAbandoned | None = None
    carried_over: CarriedOver | None = None
    """The reference to another run's evaluation, if this one was carried over from it."""
    imported: AnswerImported | None = None
    """The answer as another program recorded it; `None` if the engine asked the model."""

    @property
    def import_error(self) -> ImportedError | None:
        """The error that an imported answer has in place of a usable reply."""
        return None if self.imported is None else self.imported.error

    @property
    def has_failed(self) -> bool:
        """Whether the last request, or the imported answer, ended in an error."""
        return self.last_error is not None or self.import_error is not None

    @property
    def finished(self) -> bool:
        """Whether the evaluation has its final result: scored, abandoned or carried over."""
        return self.score is not None or self.abandoned is not None or self.carried_over is not None

    @property
    def key(self) -> EvaluationKey | None:
        """The evaluation's key; `None` before its first event."""
        if self.run_id is None or self.prompt_id is None:
            return None
        key = EvaluationKey(self.run_id, self.prompt_id, self.model_key or "", self.repetition or 0)
        vars(key)["evaluation_id"] = self.stream_id  # `evolve` checked it at the first event
        return key
