"""The state of side streams: operations on a run, and people's reviews. Pure.

Side streams have several writers, so the order of few of their events is fixed. It is checked here.
"""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from failproof_es.core.case import operations_id, review_id
from failproof_es.core.history_errors import ImpossibleHistory, require
from failproof_es.events import (
    ConfigurationResolved,
    Event,
    OperationEvent,
    Reviewed,
    RunArchived,
    RunAttached,
    ValidationPassed,
    ValidationStarted,
)


class Operations(NamedTuple):
    """The state of the operations on one run, folded from their events."""

    version: int = 0
    resolving: bool = False
    """Whether the last event resolved a configuration, so that its check must follow."""
    checking: int = 0
    """Checks that have begun and not passed; several processes can check at once."""
    archived: bool = False
    """Whether the events of the run's evaluations are in an archive file, not in the log."""


def evolve_operations(state: Operations, event: Event, run_id: UUID) -> Operations:
    """The operations on the run after one more event of their stream.

    Raises `ImpossibleHistory` if the event cannot follow, or belongs to another stream.
    """
    _require_next(state.version, event, run_id)
    require(event.stream == "operations", event, "it is nothing that is done about a run")
    require(event.originator_id == operations_id(run_id), event, "the run has another such stream")
    began = type(event) is ValidationStarted
    message = "a check begins with its configuration, and directly after it"
    require(began == state.resolving, event, message)
    if type(event) is ValidationPassed:
        require(state.checking, event, "no check has begun")
    checking = state.checking + began - (type(event) is ValidationPassed)
    archived = state.archived
    if type(event) in (RunArchived, RunAttached):
        archived = type(event) is RunArchived
        message = "it is archived already" if archived else "it is not archived"
        require(state.archived != archived, event, message)
    resolving = type(event) is ConfigurationResolved
    return Operations(event.originator_version, resolving, checking, archived)


def next_review_version(version: int, event: Event, run_id: UUID, evaluation_id: UUID) -> int:
    """The version of an evaluation's stream of reviews after one more event.

    `version` is the one before, 0 for an empty stream. Raises `ImpossibleHistory` unless the event
    is the next one of this stream, and a review of this evaluation of this run.
    """
    _require_next(version, event, run_id)
    if not isinstance(event, Reviewed):
        raise ImpossibleHistory("it is not a review", event)
    own = event.evaluation_id == evaluation_id and event.originator_id == review_id(evaluation_id)
    require(own, event, f"it is not a review of evaluation {evaluation_id}")
    return event.originator_version


def _require_next(version: int, event: Event, run_id: UUID) -> None:
    message = f"event {version + 1} of its stream is missing"
    require(event.originator_version == version + 1, event, message)
    if not isinstance(event, OperationEvent):
        raise ImpossibleHistory("it does not stand beside a run", event)
    require(event.run_id is None, event, "it is filed under a run, and stands beside it")
    require(event.about == run_id, event, f"it is about run {event.about}")
