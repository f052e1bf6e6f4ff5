"""The interface of a projection: tables computed from events, which can be rebuilt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, LiteralString, Protocol
from uuid import UUID

import psycopg

from failproof_es.events import Event
from failproof_es.store.errors import UnreadableState
from failproof_es.store.mapper import upcast

Cursor = psycopg.Cursor[Any]


@dataclass(slots=True)
class Fact:
    """One event as projections read it.

    `position` is its place in the log; the ids are UUIDs in PostgreSQL's text form; `raw_payload`
    is its payload, parsed or as bytes; `event` is the decoded event.
    """

    position: int
    stream_id: str
    topic: str
    run_id: str | None
    raw_payload: dict[str, Any] | bytes
    version: int = 0
    """Its place in its stream, from 1."""
    event: Event | None = None
    damage: UnreadableState | None = None
    """Why its bytes cannot be read: then `event` is `None` and the payload is empty."""

    def says(self, name: str) -> Any:
        """The value of one field of the event, or of the payload if there is no event."""
        return self.payload[name] if self.event is None else getattr(self.event, name)

    @property
    def payload(self) -> dict[str, Any]:
        """The event upcast to today's schema, as plain JSON values. Do not change it.

        Parsed at first use, because most payloads are never used.
        """
        if isinstance(self.raw_payload, bytes):
            self.raw_payload = upcast(
                self.topic, self.raw_payload, UUID(self.stream_id), self.version
            )[1]
        return self.raw_payload


@dataclass(frozen=True, slots=True)
class Relation:
    """A table or view that belongs to a projection: `kind` is `TABLE` or `VIEW`."""

    kind: LiteralString
    name: LiteralString


class Projection(Protocol):
    """A read model. The rows that `apply` writes depend on the events alone: no clock, no chance.

    Its SQL names its own relations without a schema, which the runner chooses, and all others
    with their schema.
    """

    name: LiteralString
    version: int
    """Increased whenever the same events would give other rows; the runner then rebuilds."""
    relations: tuple[Relation, ...]
    """The relations that the DDL creates, in the order of creation."""
    topics: frozenset[str]
    """The topics of the events it reads. Damaged events are passed only with the attribute
    `takes_damaged = True`.

    `in_shares = True` declares that the rows of one case depend on no other case, and the rows of
    one evaluation only on its case and its run. Then several processes rebuild it. At the end the
    rebuild calls `settle(cursor, position)`, if defined, for rows that depend on more.

    With `forget_run(cursor, run_id)` and `keeps_own_stream`, its rows of an archived run are
    removed, and restored when the run is attached (`projections.archives`). Otherwise they stay.
    """

    def ddl(self) -> LiteralString:
        """The statements that create its relations."""

    def apply(self, cursor: Cursor, facts: Sequence[Fact]) -> None:
        """Apply the next events, in order: one call in each transaction, never without events.

        The rows must not depend on where one batch ends and the next begins.
        """


def topics_of(projections: Iterable[Projection]) -> frozenset[str]:
    """The topics of the events that at least one of these projections reads."""
    return frozenset[str]().union(*(projection.topics for projection in projections))


def uuid_array(ids: Iterable[UUID]) -> str:
    """The ids as a PostgreSQL array in text form: faster than a list, adapted id by id."""
    return "{" + ",".join([f"{uuid.int:032x}" for uuid in ids]) + "}"


def sql_file(name: str, package: str = "projections") -> LiteralString:
    """The SQL in the package's file `sql/<name>.sql`."""
    return resources.files(package).joinpath("sql", f"{name}.sql").read_text("utf-8")


_NUL = re.compile(r"(\\*)(\x00|u0000)")


def visible(text: str) -> str:
    r"""Escape a name for a `text` column, which cannot hold NUL. `exact_text` is the inverse.

    NUL becomes `\u0000`. To distinguish it from text that contains `\u0000`, the backslashes
    directly before either are doubled; all other text is unchanged. So an odd number of
    backslashes before `u0000` ends in a NUL, an even number does not. Free text goes into `json`
    columns, which keep it exactly.
    """
    if "\x00" not in text and "\\u0000" not in text:
        return text
    return _NUL.sub(_escape_nul, text)


_ESCAPED_NUL = re.compile(r"(\\*)u0000")


def exact_text(text: str) -> str:
    """The original text, from the output of `visible`."""
    return text if "\\u0000" not in text else _ESCAPED_NUL.sub(_unescape_nul, text)


def _unescape_nul(match: re.Match[str]) -> str:
    count = len(match[1])
    return "\\" * (count // 2) + ("\x00" if count % 2 else "u0000")


def _escape_nul(match: re.Match[str]) -> str:
    backslashes, what = match.groups()
    return backslashes * 2 + ("\\u0000" if what == "\x00" else what)
