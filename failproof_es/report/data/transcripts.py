"""The failures of a report for reading: transcript, expected answer, verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from failproof_es.core.evaluation import EvaluationKey, JudgeVerdict
from failproof_es.dialects import dialect_named
from failproof_es.engine.history import Connection, RecordedEvaluation, iterate_evaluations
from failproof_es.engine.reviews.conversation import ConversationTurn, conversation
from failproof_es.events import EvaluationEvent
from failproof_es.report.data.content import Failed
from failproof_es.store.reading.reader import read_event

_WINDOW = 50


@dataclass(frozen=True, slots=True)
class FailureWithTranscript:
    """A failed evaluation with its conversation, its case and the verdicts of its judges."""

    failed: Failed
    spoken: tuple[ConversationTurn, ...]
    document: dict[str, Any]
    """The case as it stood in its file."""
    verdicts: tuple[JudgeVerdict, ...]


def failures_with_transcripts(
    connection: Connection, failures: Sequence[Failed]
) -> Iterator[FailureWithTranscript]:
    """Each failure with its transcript, in the order given.

    Reads the log while it is iterated, `_WINDOW` failures at a time.
    """
    for start in range(0, len(failures), _WINDOW):
        window = failures[start : start + _WINDOW]
        keys = _keys(connection, [failed.evaluation_id for failed in window])
        for failed, recorded in zip(window, iterate_evaluations(connection, keys), strict=True):
            yield _attach_transcript(failed, recorded)


def _keys(connection: Connection, ids: Sequence[UUID]) -> list[EvaluationKey]:
    keys = []
    for evaluation_id in ids:
        row = read_event(connection, evaluation_id, 1)
        event = None if row is None else row.event()
        assert isinstance(event, EvaluationEvent) and event.run_id is not None
        keys.append(EvaluationKey(event.run_id, event.prompt_id, event.model_key, event.repetition))
    return keys


def _attach_transcript(failed: Failed, recorded: RecordedEvaluation) -> FailureWithTranscript:
    state = recorded.state()
    spoken = conversation(dialect_named(recorded.case.dialect), recorded.case, state)
    return FailureWithTranscript(failed, tuple(spoken), recorded.case.document, state.verdicts)
