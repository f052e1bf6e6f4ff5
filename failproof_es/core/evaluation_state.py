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
    """Which evaluation: one case, asked of one model, for the n-th time, in one run."""

    run_id: UUID
    prompt_id: UUID
    model_key: str
    repetition: int = 1

    @cached_property
    def evaluation_id(self) -> UUID:
        """The evaluation's stream: the same for the same key, on every machine."""
        return stream_of(self.run_id, self.prompt_id, self.model_key, self.repetition)


@lru_cache(maxsize=1_024, typed=True)  # several ask for it when it is planned
def stream_of(run_id: UUID, prompt_id: UUID, model_key: str, repetition: int) -> UUID:
    """The stream of the evaluation that these name."""
    return UUID(int=stream_number(run_id, prompt_id, model_key, repetition))


def stream_number(run_id: UUID, prompt_id: UUID, model_key: str, repetition: int) -> int:
    """The same as a number: two `UUID` take longer to compare."""
    text = f"{_run_text(run_id)}\n{prompt_id}\n{model_key}\n{repetition}"
    return digest_number(hashlib.sha256(text.encode()).digest())


_last_run: tuple[UUID | None, str] = None, ""


def _run_text(run_id: UUID) -> str:
    """The id as text: most evaluations are of the same run as the one before."""
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
    """The event that came last."""
    in_flight: RequestSent | None = None
    attempts: int = 0
    """Requests sent for the current turn, or to the current judge, lost ones included."""
    failures: int = 0
    """Transient errors of the current question: these use up the retry bound."""
    deferrals: int = 0
    """How often the server refused the current question for now."""
    deferred_since: datetime | None = None
    """When it did so first."""
    last_error: ErrorRecorded | None = None
    request: RequestSent | None = None
    """The last one that was sent to the target."""
    response: ResponseReceived | None = None
    """The last one that the target gave."""
    replies: tuple[ModelReply, ...] = ()
    judge_reply: ModelReply | None = None
    """The last reply of a judge, until it is read."""
    verdicts: tuple[JudgeVerdict, ...] = ()
    """Of every judge that is done, in the order in which they were asked."""
    unread: int = 0
    """Replies of the judge asked now that held no verdict."""
    latency_ms: float = 0.0
    usage: Usage = UNCOUNTED
    classification: Classification | None = None
    score: Score | None = None
    abandoned: EvaluationAbandoned | None = None
    carried_over: CarriedOver | None = None
    """Where its events are, when they are those of another run's evaluation."""
    imported: AnswerImported | None = None
    """What another tool recorded, where nobody here asked."""

    @property
    def import_error(self) -> ImportedError | None:
        """Why the source of an imported answer has no usable one."""
        return None if self.imported is None else self.imported.error

    @property
    def has_failed(self) -> bool:
        """Whether an error stands where an answer should be."""
        return self.last_error is not None or self.import_error is not None

    @property
    def finished(self) -> bool:
        """Whether the evaluation has its one final result, its own or one carried over."""
        return self.score is not None or self.abandoned is not None or self.carried_over is not None

    @property
    def key(self) -> EvaluationKey | None:
        """Which evaluation it is; `None` before its first event."""
        if self.run_id is None or self.prompt_id is None:
            return None
        key = EvaluationKey(self.run_id, self.prompt_id, self.model_key or "", self.repetition or 0)
        vars(key)["evaluation_id"] = self.stream_id  # its first event was held to that
        return key
