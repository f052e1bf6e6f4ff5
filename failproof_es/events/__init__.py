"""The event types: everything that can happen, as immutable events.

An event is written before anything is derived from it. Its topic is the class name below, forever:
topics are resolved through `EVENTS`, never by importing what a database row names.
A change of a released event's fields raises its `schema_version` and adds an upcaster
to `failproof_es.store.mapper`; `tests/golden/` holds one file for each version released.

`base.Event` says what the class of an event declares: its stream, its line, its place in the
audit trail. `EVENTS` finds it: a class of these modules that no other class extends.
`docs/architecture.md`, "Walks", has every step.
"""

from __future__ import annotations

from typing import get_args

from failproof_es.events.base import *
from failproof_es.events.prompts import *
from failproof_es.events.side_streams import *
from failproof_es.events.access import *
from failproof_es.events.runs import *
from failproof_es.events.registrations import *
from failproof_es.events.evaluations import *
from failproof_es.events.imported import *

EVENTS: dict[str, type[Event]] = {
    kind.__name__: kind
    for kind in list(globals().values())
    if isinstance(kind, type) and issubclass(kind, Event) and not kind.__subclasses__()
}
"""Every event class by its topic. A topic is never renamed and never reused."""

AUDITED: dict[str, type[Event]] = {
    name: kind for kind in EVENTS.values() if (name := kind.audit_name()) is not None
}
"""Every event class of the audit trail, by the event's name in the trail."""

RUN_STATUS: dict[str, RunStatus] = {
    topic: kind.run_status
    for topic, kind in EVENTS.items()
    if issubclass(kind, RunEvent) and kind.run_status is not None
}
"""The state of a run after each event that decides it, by topic."""

RUN_ENDINGS = tuple(topic for topic, status in RUN_STATUS.items() if status in ENDED)
"""The topics of the events after which a run asks nothing any more."""

COUNTED = tuple(kind.__name__ for kind in get_args(CountedEvent))
"""The topics of the events that hold the run's counts."""


def topics(stream: Stream, *, ends: bool | None = None) -> tuple[str, ...]:
    """The topics of such streams' events; `ends` selects last events, or the others."""
    return tuple(
        topic
        for topic, kind in EVENTS.items()
        if kind.stream == stream and ends in (None, kind.ends_stream)
    )


EVALUATION_ENDINGS = topics("evaluation", ends=True)
"""The topics of the events after which an evaluation asks nothing any more."""

OWN_ENDINGS = tuple(topic for topic in EVALUATION_ENDINGS if topic != CarriedOver.__name__)
"""`EVALUATION_ENDINGS` without the one that refers to the result of another run."""
