"""The names of the cases that events are about."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from failproof_es.engine.history import UNREADABLE, stored_case
from failproof_es.store.reading.reader import Connection, RecordedEvent, portions, read_streams

_MOST_KEPT = 10_000


class CaseNames:
    """The name of each event's case as `SUITE/CASE`; the newest `_MOST_KEPT` are kept."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._names: dict[UUID, str | None] = {}

    def read(self, events: Iterable[RecordedEvent]) -> None:
        """Read the names for these events together; `of` then reads nothing."""
        prompts = dict.fromkeys(filter(None, map(_prompt_of, events)))
        missing = [prompt for prompt in prompts if prompt not in self._names]
        if len(self._names) + len(missing) > _MOST_KEPT:
            self._names.clear()
            missing = list(prompts)
        for portion in portions(self._connection, missing):
            streams = read_streams(self._connection, portion)
            for prompt in portion:
                try:
                    case = stored_case(streams, prompt)
                except UNREADABLE:
                    self._names[prompt] = None
                else:
                    self._names[prompt] = case.names[1]

    def of(self, event: RecordedEvent) -> str | None:
        """The name of the event's case; `None` if it is about none, or its case cannot be read."""
        prompt = _prompt_of(event)
        return None if prompt is None else self._names.get(prompt)


def _prompt_of(event: RecordedEvent) -> UUID | None:
    try:
        return UUID(event.payload()["prompt_id"])
    except (*UNREADABLE, AttributeError, KeyError, TypeError, ValueError):
        return None
