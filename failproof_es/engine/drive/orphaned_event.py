"""Builds the event of an attempt without an outcome: it holds no reply and needs no redaction.

`failproof_es.core.evaluation` decides it for the requests of a drive that died (`DeclareOrphaned`),
the interpreter for a request that it recorded and may not send. Children that grade load this
module.
"""

from __future__ import annotations

from typing import Any

from failproof_es.core.evaluation import Evaluation
from failproof_es.events import AttemptOrphaned, RequestSent
from failproof_es.store.writing.event_header import EventHeader


def attempt_orphaned(
    header: EventHeader, state: Evaluation, request: RequestSent, reason: str
) -> AttemptOrphaned:
    """The event of a request that has no outcome and will not get one.

    `reason` says why, in words.
    """
    return AttemptOrphaned(
        **header(state),
        **identify_request(request),
        reason=reason,
    )


def identify_request(request: RequestSent) -> dict[str, Any]:
    """The fields that identify the request within its evaluation, for the event of its outcome."""
    return {
        "purpose": request.purpose,
        "judge": request.judge,
        "turn": request.turn,
        "attempt": request.attempt,
    }
