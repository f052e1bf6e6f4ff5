"""The header of an event (stream, version, run, time), and drafts of events without a version.

The engine, the callers of the journal and the store all use it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol, Self
from uuid import UUID

from failproof_es.core.evaluation_state import EvaluationKey
from failproof_es.events import Event
from failproof_es.support import clock


class Versioned(Protocol):
    """The state of a stream: an evaluation or a run."""

    @property
    def version(self) -> int:
        """The version of its last event, 0 if there is none."""


class EventHeader:
    """Makes the headers of one stream's events. `shared` are fields that all of them have."""

    def __init__(self, stream_id: UUID, run_id: UUID | None, **shared: Any) -> None:
        self.stream_id = stream_id
        self.run_id = run_id
        self._shared = shared

    @classmethod
    def of_evaluation(cls, key: EvaluationKey) -> Self:
        """The header of an evaluation's events."""
        return cls(
            key.evaluation_id,
            key.run_id,
            prompt_id=key.prompt_id,
            model_key=key.model_key,
            repetition=key.repetition,
        )

    @classmethod
    def of_run(cls, run_id: UUID) -> Self:
        """The header of the events in a run's own stream."""
        return cls(run_id, run_id)

    def __call__(self, state: Versioned) -> dict[str, Any]:
        """The header of the event that follows `state`, with the present time."""
        return self.after(state.version)

    def after(self, version: int) -> dict[str, Any]:
        """The header of the event that follows `version`, with the present time."""
        return {
            "originator_id": self.stream_id,
            "originator_version": version + 1,
            "run_id": self.run_id,
            "timestamp": clock.utc_now(),
            **self._shared,
        }


class Draft:
    """An event without a version, which it gets when it is appended."""

    def __init__(self, kind: type[Event], header: EventHeader, /, **fields: Any) -> None:
        self.kind = kind
        self.header = header
        self.fields = fields

    @classmethod
    def copy_of(cls, event: Event, header: EventHeader, /, **changed: Any) -> Self:
        """A copy of `event` for another stream, with the fields in `changed` replaced."""
        own = {name: getattr(event, name) for name in type(event).model_fields}
        return cls(type(event), header, **{**own, **changed})

    def after(self, version: int) -> Event:
        """The event with the version after `version`, and the present time."""
        return self.kind.model_validate({**self.fields, **self.header.after(version)})


def to_events(drafts: Iterable[Draft], versions: Mapping[UUID, int]) -> Iterator[Event]:
    """The drafts as events, in order, each with the next version of its stream. Yields lazily.

    `versions` are the streams' last versions; a stream that is missing there is empty.
    """
    last = dict(versions)
    for draft in drafts:
        event = draft.after(last.get(draft.header.stream_id, 0))
        last[event.originator_id] = event.originator_version
        yield event
