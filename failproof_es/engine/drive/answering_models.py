"""Reads which models of a run have answered under their own names, for who goes on with it."""

from __future__ import annotations

from failproof_es.core.run import Run
from failproof_es.engine.drive.targets import Targets
from failproof_es.engine.history import Connection
from failproof_es.events import ResponseReceived
from failproof_es.models.replies.model_name_check import is_asked_model
from failproof_es.store.reading.reader import find

_LOOKED_AT = 500
"""Answers that are looked at. A model that does not answer as asked pauses the run at its first
answer, so a run with more of them has one that does."""


def restore_answering(connection: Connection, run: Run, targets: Targets) -> None:
    """Note at each target whether a recorded answer shows the name that was asked for."""
    topics = [ResponseReceived.__name__]
    for row in find(connection, run_id=run.started.run_id, topics=topics, limit=_LOOKED_AT):
        event = row.event()
        if not isinstance(event, ResponseReceived):
            continue
        target = (
            targets.models.get(event.model_key)
            if event.judge is None
            else targets.judges.get(event.judge)
        )
        if target is not None and not target.answering.has_matched:
            asked = target.model
            target.answering.has_matched = is_asked_model(
                asked.model, asked.version, event.model, asked.version_check
            )
