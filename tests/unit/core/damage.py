"""What can happen to a history: an event is lost, doubled, moved, or there is a gap."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from failproof_es.events import EvaluationEvent

OTHER_RUN = UUID(int=77)


def renumbered(events: Sequence[EvaluationEvent]) -> list[EvaluationEvent]:
    """As somebody would number them who hides that an event was put in or taken out."""
    return [
        event.model_copy(update={"originator_version": version})
        for version, event in enumerate(events, start=1)
    ]


def dropped(events: list[EvaluationEvent], at: int, _: int) -> list[EvaluationEvent]:
    return renumbered(events[:at] + events[at + 1 :])


def doubled(events: list[EvaluationEvent], at: int, _: int) -> list[EvaluationEvent]:
    return renumbered(events[: at + 1] + events[at:])


def copied(events: list[EvaluationEvent], at: int, to: int) -> list[EvaluationEvent]:
    return renumbered([*events[:to], events[at], *events[to:]])


def moved(events: list[EvaluationEvent], at: int, to: int) -> list[EvaluationEvent]:
    rest = events[:at] + events[at + 1 :]
    return renumbered([*rest[:to], events[at], *rest[to:]])


def swapped(events: list[EvaluationEvent], at: int, _: int) -> list[EvaluationEvent]:
    return renumbered([*events[:at], *events[at : at + 2][::-1], *events[at + 2 :]])


def gap(events: list[EvaluationEvent], at: int, _: int) -> list[EvaluationEvent]:
    return events[:at] + events[at + 1 :]


DAMAGES = (dropped, doubled, copied, moved, swapped, gap)
