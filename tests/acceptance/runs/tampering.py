"""Ways to tamper with the log as a superuser, for tests of what is noticed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID, uuid4

import orjson
import psycopg

from failproof_es.ledger.leaf import leaf_hash
from failproof_es.store.reading.reader import RecordedEvent
from tests.conftest import as_administrator

Administrator = psycopg.Connection[Any]
Rows = Sequence[RecordedEvent]


@contextmanager
def tampering(url: str) -> Iterator[Administrator]:
    """A superuser's transaction that leaves nothing behind."""
    with (
        psycopg.connect(as_administrator(url), autocommit=True) as connection,
        connection.transaction(force_rollback=True),
    ):
        connection.execute("SET LOCAL event_triggers = off")
        connection.execute("ALTER TABLE failproof.events DISABLE TRIGGER ALL")
        yield connection


def write(connection: Administrator, row: RecordedEvent, payload: dict[str, Any]) -> None:
    """Have the row say something else, with a writer's hash that fits."""
    state = orjson.dumps(payload)
    leaf = leaf_hash(row.stream_id.bytes, row.version, row.topic.encode(), state)
    change(connection, row, "state = %s, leaf_hash = %s", state, leaf)


def change(connection: Administrator, row: RecordedEvent, what: str, *values: Any) -> None:
    statement = f"UPDATE failproof.events SET {what} WHERE notification_id = %s"
    connection.execute(statement.encode(), (*values, row.position))


def say_otherwise(connection: Administrator, chance: random.Random, rows: Rows) -> None:
    row = chance.choice(rows)
    payload = row.payload()
    field = chance.choice(sorted(set(payload) - {"schema_version"}))
    other: Any = chance.choice([None, 0, 7, "other", [], {}, "2026-11-23T00:00:00Z", str(uuid4())])
    write(connection, row, {**payload, field: other})


def alter_a_text(connection: Administrator, chance: random.Random, rows: Rows) -> None:
    row = chance.choice([row for row in rows if row.topic == "ResponseReceived"])
    payload = row.payload()
    field = chance.choice(["text", "finish_reason", "model", "body"])
    write(connection, row, {**payload, field: "something else"})


def alter_a_prompt(connection: Administrator, chance: random.Random, rows: Rows) -> None:
    row = chance.choice([row for row in rows if row.topic == "PromptStored"])
    payload = row.payload()
    write(connection, row, {**payload, "case": {**payload["case"], "category": "other"}})


def flip_a_byte(connection: Administrator, chance: random.Random, rows: Rows) -> None:
    row = chance.choice(rows)
    state = bytearray(row.state)
    state[chance.randrange(len(state))] ^= 1 << chance.randrange(7)
    change(connection, row, "state = %s", bytes(state))


def give_another_hash(connection: Administrator, chance: random.Random, rows: Rows) -> None:
    change(connection, chance.choice(rows), "leaf_hash = sha256('another')")


def leave_out(connection: Administrator, chance: random.Random, rows: Rows) -> None:
    row = chance.choice(rows)
    statement = "DELETE FROM failproof.events WHERE notification_id = %s"
    connection.execute(statement, (row.position,))


def say_twice(connection: Administrator, chance: random.Random, rows: Rows) -> None:
    row = chance.choice(rows)
    last = max(each.version for each in rows if each.stream_id == row.stream_id)
    add(connection, row, row.stream_id, last + chance.randint(1, 2))


def add_a_stream(connection: Administrator, chance: random.Random, rows: Rows) -> None:
    add(connection, chance.choice(rows), uuid4(), 1)


def add(connection: Administrator, row: RecordedEvent, stream: UUID, version: int) -> None:
    leaf = leaf_hash(stream.bytes, version, row.topic.encode(), row.state)
    connection.execute(
        "INSERT INTO failproof.events (originator_id, originator_version, topic, state, run_id, "
        "leaf_hash) VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
        (stream, version, row.topic, row.state, row.run_id, leaf),
    )


def renumber(connection: Administrator, chance: random.Random, rows: Rows) -> None:
    row = chance.choice(rows)
    version = row.version + 100
    leaf = leaf_hash(row.stream_id.bytes, version, row.topic.encode(), row.state)
    change(connection, row, "originator_version = %s, leaf_hash = %s", version, leaf)


def call_otherwise(connection: Administrator, chance: random.Random, rows: Rows) -> None:
    row = chance.choice(rows)
    topic = chance.choice(["Scored", "AttemptOrphaned", "PromptStored", "Unheard"])
    leaf = leaf_hash(row.stream_id.bytes, row.version, topic.encode(), row.state)
    change(connection, row, "topic = %s, leaf_hash = %s", topic, leaf)


def file_elsewhere(connection: Administrator, chance: random.Random, rows: Rows) -> None:
    change(connection, chance.choice(rows), "run_id = %s", chance.choice([None, uuid4()]))


def plan_otherwise(connection: Administrator, chance: random.Random, rows: Rows) -> None:
    """One twice, one left out, or one twice in place of another."""
    row = next(row for row in rows if row.topic == "CasesPlanned")
    payload = row.payload()
    digests = list(payload["digests"])
    way = chance.randrange(3)
    if way:
        digests.pop(chance.randrange(len(digests)))
    if way != 1:
        digests.insert(chance.randrange(len(digests)), chance.choice(digests))
    write(connection, row, {**payload, "digests": digests})


def forget_the_time(connection: Administrator, chance: random.Random, rows: Rows) -> None:
    connection.execute("ALTER TABLE failproof.events ALTER recorded_at DROP NOT NULL")
    change(connection, chance.choice(rows), "recorded_at = NULL")


TIMES_NOT_SHOWN = ("infinity", "-infinity", "12000-01-01", "0044-03-15 BC")
"""Values of recorded_at that Postgres knows and Python does not."""


def tell_a_time_of_no_clock(connection: Administrator, chance: random.Random, rows: Rows) -> None:
    """Of a prompt: it is the row whose recorded_at a full reading must be able to show."""
    row = chance.choice([row for row in rows if row.topic == "PromptStored"])
    change(connection, row, "recorded_at = %s", chance.choice(TIMES_NOT_SHOWN))


def forget_the_position(connection: Administrator, chance: random.Random, rows: Rows) -> None:
    connection.execute(
        "ALTER TABLE failproof.events ALTER notification_id DROP IDENTITY IF EXISTS, "
        "ALTER notification_id DROP NOT NULL"
    )
    change(connection, chance.choice(rows), "notification_id = NULL")


def move_to_the_end(connection: Administrator, chance: random.Random, rows: Rows) -> None:
    """An evaluation's first event gets the last position of the log."""
    row = chance.choice([row for row in rows if row.version == 1 and row.run_id is not None])
    connection.execute(
        "ALTER TABLE failproof.events ALTER notification_id SET GENERATED BY DEFAULT"
    )
    change(
        connection,
        row,
        "notification_id = (SELECT max(notification_id) + 1 FROM failproof.events)",
    )


WAYS: tuple[Callable[[Administrator, random.Random, Rows], None], ...] = (
    say_otherwise,
    alter_a_text,
    alter_a_prompt,
    flip_a_byte,
    give_another_hash,
    leave_out,
    say_twice,
    add_a_stream,
    renumber,
    call_otherwise,
    file_elsewhere,
    plan_otherwise,
    forget_the_time,
    tell_a_time_of_no_clock,
    forget_the_position,
    move_to_the_end,
)
