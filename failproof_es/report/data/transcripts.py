"""The failures of a report for reading: transcript, expected answer, verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from failproof_es.configuration.choices import PromptTemplate
from failproof_es.configuration.prompt_template import templates_of
from failproof_es.core.evaluation import EvaluationKey, JudgeVerdict
from failproof_es.dialects import dialect_named
from failproof_es.engine.history import (
    Connection,
    RecordedEvaluation,
    iterate_evaluations,
    read_run,
)
from failproof_es.engine.reviews.conversation import ConversationTurn, conversation
from failproof_es.report.data.content import Failed

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
    templates = {
        run_id: templates_of(read_run(connection, run_id).started)
        for run_id in dict.fromkeys(failed.run_id for failed in failures)
    }
    for start in range(0, len(failures), _WINDOW):
        window = failures[start : start + _WINDOW]
        keys = [
            EvaluationKey(failed.run_id, failed.prompt_id, failed.model_key, failed.repetition)
            for failed in window
        ]
        for failed, recorded in zip(window, iterate_evaluations(connection, keys), strict=True):
            template = templates[failed.run_id].get(failed.model_key)
            yield _attach_transcript(failed, recorded, template)


def _attach_transcript(
    failed: Failed, recorded: RecordedEvaluation, template: PromptTemplate | None
) -> FailureWithTranscript:
    state = recorded.state()
    spoken = conversation(dialect_named(recorded.case.dialect), recorded.case, state, template)
    return FailureWithTranscript(failed, tuple(spoken), recorded.case.document, state.verdicts)
