"""What a projection is: tables that are computed from events and can be thrown away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, LiteralString, Protocol

import psycopg

from failproof_es.store.reader import RecordedEvent

Cursor = psycopg.Cursor[Any]


class Fact:
    """One event as projections read it: its place in the log, its payload parsed once."""

    __slots__ = ("_payload", "position", "recorded", "topic")

    def __init__(self, recorded: RecordedEvent) -> None:
        self.recorded = recorded
        self.topic = recorded.topic
        self.position = recorded.position
        self._payload: dict[str, Any] | None = None

    @property
    def payload(self) -> dict[str, Any]:
        """The event upcast to today's schema, as plain JSON values."""
        if self._payload is None:
            self._payload = self.recorded.upcast_payload()
        return self._payload


@dataclass(frozen=True, slots=True)
class Relation:
    """A table or view that belongs to a projection."""

    kind: LiteralString
    name: LiteralString


class Projection(Protocol):
    """A read model. What `apply` writes depends on the events alone: no clock, no chance.

    Its SQL names relations without a schema: the runner chooses where they live.
    """

    name: LiteralString
    version: int
    """Raised whenever the same events would give other rows; the runner then rebuilds."""
    relations: tuple[Relation, ...]
    """What the DDL creates, in that order."""
    topics: frozenset[str]
    """Which events it wants."""

    def ddl(self) -> LiteralString:
        """The statements that create its relations."""

    def apply(self, cursor: Cursor, facts: Sequence[Fact]) -> None:
        """Take in the next events, in order. Where a batch ends must not matter."""


def sql_file(name: str) -> LiteralString:
    """The SQL in `projections/<name>.sql`."""
    return resources.files("projections").joinpath(f"{name}.sql").read_text("utf-8")


def visible(text: str | None) -> str | None:
    r"""Text for a `text` column, which cannot hold NUL: it is written as `\u0000`.

    Free text goes into `json` columns, which keep it exactly; this is for names.
    """
    return None if text is None else text.replace("\x00", "\\u0000")
