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
    is its payload or the bytes that hold it; `event` is what the engine reads in them.
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
    """Why its bytes cannot be read: there is no event then, and the payload is empty."""

    def says(self, name: str) -> Any:
        """One field of the event; the payload is parsed only where there is no event."""
        return self.payload[name] if self.event is None else getattr(self.event, name)

    @property
    def payload(self) -> dict[str, Any]:
        """The event upcast to today's schema, as plain JSON values: not to be changed.

        Parsed when it is asked for, because most events are asked for by nobody.
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
    """A read model. What `apply` writes depends on the events alone: no clock, no chance.

    Its SQL names its relations without a schema: the runner chooses where they live. What is
    not its own is named with its schema.
    """

    name: LiteralString
    version: int
    """Raised whenever the same events would give other rows; the runner then rebuilds."""
    relations: tuple[Relation, ...]
    """What the DDL creates, in that order."""
    topics: frozenset[str]
    """Which events it wants. Damaged ones come only if it has `takes_damaged = True`.

    With `in_shares = True` the rows of one case depend on no other case, and the rows of one
    evaluation on no other evaluation: on its case and its run alone. A rebuild then takes them in
    in several processes. At its end it calls `settle(cursor, position)`, where there is one, for
    what depends on several.

    With `forget_run(cursor, run_id)` and `keeps_own_stream`, its rows of an archived run go, and
    come back when the run is attached (`projections.archives`). Without, they stay.
    """

    def ddl(self) -> LiteralString:
        """The statements that create its relations."""

    def apply(self, cursor: Cursor, facts: Sequence[Fact]) -> None:
        """Take in the next events, in order: one call a transaction, never an empty one.

        Where one batch ends and the next begins must not matter to the rows.
        """


def uuid_array(ids: Iterable[UUID]) -> str:
    """An array of UUIDs as PostgreSQL reads it: one text, where a list is adapted id by id."""
    return "{" + ",".join([f"{uuid.int:032x}" for uuid in ids]) + "}"


def sql_file(name: str, package: str = "projections") -> LiteralString:
    """The SQL in `sql/<name>.sql` of the package, which ships with it."""
    return resources.files(package).joinpath("sql", f"{name}.sql").read_text("utf-8")


_NUL = re.compile(r"(\\*)(\x00|u0000)")


def visible(text: str) -> str:
    r"""Text for a `text` column, which cannot hold NUL; different texts stay different.

    NUL becomes `\u0000`. So that this cannot be mistaken for text that says `\u0000`, the
    backslashes directly before either are doubled; all other text is kept as it is. Read
    back: an odd number of backslashes before `u0000` ends in a NUL, an even number does not.
    Free text goes into `json` columns, which keep it exactly; this is for names.
    """
    if "\x00" not in text and "\\u0000" not in text:
        return text
    return _NUL.sub(_double, text)


_ESCAPED_NUL = re.compile(r"(\\*)u0000")


def exact_text(text: str) -> str:
    """The original text, from the output of `visible`."""
    return text if "\\u0000" not in text else _ESCAPED_NUL.sub(_halve, text)


def _halve(match: re.Match[str]) -> str:
    count = len(match[1])
    return "\\" * (count // 2) + ("\x00" if count % 2 else "u0000")


def _double(match: re.Match[str]) -> str:
    backslashes, what = match.groups()
    return backslashes * 2 + ("\\u0000" if what == "\x00" else what)
