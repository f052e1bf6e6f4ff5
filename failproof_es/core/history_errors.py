"""Errors of a recorded history: the event that cannot follow the others, and the rule it breaks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn
from uuid import UUID

from failproof_es.events import Event


class ImpossibleHistory(Exception):
    """The log holds an event that cannot follow the ones before it.

    `rule` describes the contradiction. If one event is at fault, `topic`, `stream_id` and
    `version` (its position in its stream, from 1) identify it.
    """

    def __init__(self, rule: str, event: Event | None = None) -> None:
        self.rule = rule
        self.topic: str | None = None
        self.stream_id: UUID | None = None
        self.version: int | None = None
        if event is None:
            super().__init__(rule)
            return
        self.topic = type(event).__name__
        self.stream_id = event.originator_id
        self.version = event.originator_version
        super().__init__(
            f"stream {self.stream_id}: {self.topic} cannot be event {self.version}: {rule}"
        )


def require(holds: object, event: Event, rule: str) -> None:
    """Raise `ImpossibleHistory` with this event and the rule that it breaks, unless `holds`."""
    if not holds:
        raise ImpossibleHistory(rule, event)


def differing(event: Event, expected: Mapping[str, Any]) -> NoReturn:
    """Raise `ImpossibleHistory` for the first field of the event that differs from `expected`.

    `expected` has values by name of the field. If none differs, the error has a general rule.
    """
    for name, value in expected.items():
        if getattr(event, name) != value:
            actual = getattr(event, name)
            raise ImpossibleHistory(f"its {name} is {actual}, and must be {value}", event)
    raise ImpossibleHistory("it does not belong to what it follows", event)
