"""Rows that no event can have, put there by a superuser who drops every constraint first.

Whatever stands there, `verify` ends and names it, and nothing is signed over it.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from failproof_es.assurance.checking.findings import (
    CLOCK,
    HISTORY_FORKED,
    IN_BETWEEN,
    ROW_CHANGED,
    ROW_IMPOSSIBLE,
    ROW_MISLABELLED,
    ROW_MISSING,
    SIGNATURE,
    TREE_CHANGED,
    Verification,
    VerificationFinding,
)
from failproof_es.assurance.signing.checkpoint_signer import CheckpointSigner
from failproof_es.assurance.signing.integrator import LedgerBroken, sign_checkpoint
from failproof_es.cli.app.errors import report
from failproof_es.ledger.contents import EvidenceError
from tests.acceptance.attacks.conftest import Attacked, first, found
from tests.acceptance.attacks.deadline import within_seconds
from tests.acceptance.attacks.statements import LEAF_OF
from tests.acceptance.attacks.world import PASSED
from tests.selection import slow_except

NO_UTF8 = r"('\xfffe'::bytea)::text"
"""A text that is no UTF-8, in a database that is: by a cast that only a superuser can make."""
CAST = "CREATE CAST (bytea AS text) WITHOUT FUNCTION"

EVENTS, TILES, CHECKPOINTS = "events", "ledger_tiles", "ledger_checkpoints"


def unconstrained(superuser: psycopg.Connection[Any], table: str) -> list[str]:
    """Statements that take every CHECK, NOT NULL and key of a table away.

    The index by topics goes, too: it has no room for a topic of any length.
    """
    constraints = superuser.execute(
        "SELECT conname FROM pg_constraint WHERE contype IN ('c', 'p', 'u') "
        f"AND conrelid = 'failproof.{table}'::regclass ORDER BY contype".encode()
    ).fetchall()
    # The primary key goes first: its columns stay NOT NULL while it is there.
    drops = [f"ALTER TABLE failproof.{table} DROP CONSTRAINT IF EXISTS {name}"
             for (name,) in reversed(constraints)]  # fmt: skip
    columns = superuser.execute(
        "SELECT attname FROM pg_attribute WHERE attnum > 0 AND attidentity = '' "
        f"AND NOT attisdropped AND attrelid = 'failproof.{table}'::regclass".encode()
    ).fetchall()
    drops += [f"ALTER TABLE failproof.{table} ALTER {name} DROP NOT NULL" for (name,) in columns]
    return [*drops, "DROP INDEX IF EXISTS failproof.events_topic_idx"]


def plant(log: Attacked, table: str, *statements: str) -> None:
    """Change something that no constraint would let through."""
    log.superuser.execute(b"DROP CAST IF EXISTS (bytea AS text)")
    log.superuser.execute(CAST.encode())
    log.tamper(*unconstrained(log.superuser, table), *statements)
    log.superuser.execute(b"DROP CAST (bytea AS text)")


def verified(log: Attacked) -> Verification:
    with within_seconds(60):
        return log.verify()


def of_rows(result: Verification) -> list[VerificationFinding]:
    """What was found, but for the constraints that had to go first, each of which is named."""
    return [each for each in result.findings if each.kind != IN_BETWEEN]


@dataclass(frozen=True, slots=True)
class Odd:
    """Something about a row that no event has."""

    name: str
    column: str
    value: str
    said: str
    """What is said of it, where no leaf can be made of the row; else nothing."""


IMPOSSIBLE = [
    Odd("version -1", "originator_version", "-1", "its version is -1"),
    Odd("lowest version", "originator_version", str(-(1 << 63)), "its version is -9"),
    Odd("version none", "originator_version", "NULL", "its version is missing"),
    Odd("topic 64 KiB", "topic", "repeat('x', 65536)", "its topic is 65,536 bytes long"),
    Odd("topic 10 MB", "topic", "repeat('x', 10000000)", "its topic is 10,000,000 bytes"),
    Odd("topic none", "topic", "NULL", "its topic is missing"),
    Odd("state none", "state", "NULL", "its state is missing"),
    Odd("stream none", "originator_id", "NULL", "its stream id is missing"),
    Odd("recorded never", "recorded_at", "NULL", "its recorded_at is missing"),
]
CHANGED = [
    Odd("version 0", "originator_version", "0", ""),
    Odd("version huge", "originator_version", str((1 << 63) - 1), ""),
    Odd("topic empty", "topic", "''", ""),
    Odd("topic not UTF-8", "topic", NO_UTF8, ""),
    Odd("topic just under 64 KiB", "topic", "repeat('x', 65535)", ""),
    Odd("state empty", "state", "''", ""),
    Odd("state no JSON", "state", "'nothing'", ""),
    Odd("state not UTF-8", "state", r"'\xff'", ""),
    Odd("state deep", "state", "convert_to(repeat('[', 100000), 'UTF8')", ""),
    Odd("state 10 MB", "state", "convert_to(repeat('x', 10000000), 'UTF8')", ""),
    Odd("leaf hash empty", "leaf_hash", "''", ""),
    Odd("leaf hash short", "leaf_hash", r"'\x00'", ""),
    Odd("leaf hash long", "leaf_hash", r"leaf_hash || '\x00'", ""),
]


def of(odd: Odd) -> str:
    return odd.name


@pytest.mark.slow
@pytest.mark.parametrize("odds", [IMPOSSIBLE, CHANGED], ids=["impossible", "changed"])
def test_events_made_into_rows_that_no_event_has_are_named(log: Attacked, odds: list[Odd]) -> None:
    """Where the tree has the event: it is known that something else stood there."""
    rows = log.rows()
    scored = [index for index, row in enumerate(rows) if row.topic == b"Scored"]
    forged = dict(zip(scored[7:], odds, strict=False))
    plant(
        log, EVENTS,
        *(
            f"UPDATE failproof.events SET {odd.column} = {odd.value} "
            f"WHERE notification_id = {rows[index].position}"
            for index, odd in forged.items()
        ),
    )  # fmt: skip
    named = [finding for finding in verified(log).findings if finding.kind == ROW_CHANGED]
    assert [finding.index for finding in named] == [*forged]
    for finding, (index, odd) in zip(named, forged.items(), strict=True):
        assert finding.position == rows[index].position, odd.name
        assert odd.said in finding.message
        assert len(finding.topic or "") <= 100
    assert len(forged) == len(odds)


@pytest.mark.parametrize(
    "odd", slow_except([odd for odd in IMPOSSIBLE if "MB" not in odd.name], IMPOSSIBLE), ids=of
)
@pytest.mark.thinned(fast=2, whole=4)
def test_a_row_behind_the_tree_that_no_event_has_is_named_and_never_signed(
    log: Attacked, odd: Odd
) -> None:
    position = log.rows()[-1].position
    plant(
        log, EVENTS, f"UPDATE failproof.events SET {odd.column} = {odd.value} "
        f"WHERE notification_id = {position}",
    )  # fmt: skip
    named = first(verified(log), ROW_IMPOSSIBLE)
    assert (named.index, named.position) == (log.recorded.sizes.all - 1, position)
    assert odd.said in named.message
    with (
        within_seconds(60),
        log.engine() as store,
        store.connect() as connection,
        pytest.raises(LedgerBroken, match=f"position {position} .*{odd.said}"),
    ):
        sign_checkpoint(connection, log.recorded.key, None)


@pytest.mark.parametrize("state", ["''", "'nothing'", r"'\xff'"], ids=["empty", "text", "bytes"])
def test_a_state_that_is_no_json_with_a_leaf_that_fits_is_named_behind_the_tree_too(
    log: Attacked, state: str
) -> None:
    position = log.rows()[-1].position
    place = f"WHERE notification_id = {position}"
    plant(
        log, EVENTS, f"UPDATE failproof.events SET state = {state} {place}",
        f"UPDATE failproof.events SET leaf_hash = {LEAF_OF} {place}",
    )  # fmt: skip
    named = first(verified(log), ROW_MISLABELLED)
    assert (named.position, "is not JSON" in named.message) == (position, True)


def test_an_event_without_a_position_is_named_and_so_is_where_it_stood(log: Attacked) -> None:
    forged = log.event("Scored", PASSED, 7)
    plant(
        log, EVENTS, "ALTER TABLE failproof.events ALTER notification_id DROP IDENTITY",
        "ALTER TABLE failproof.events ALTER notification_id DROP NOT NULL",
        "UPDATE failproof.events SET notification_id = NULL "
        f"WHERE notification_id = {forged.position}",
    )  # fmt: skip
    result = verified(log)
    assert first(result, ROW_MISSING).position == forged.position
    named = first(result, ROW_IMPOSSIBLE)
    assert named.stream_id is not None
    assert (named.stream_id.bytes, named.version) == (forged.stream_id, forged.version)
    assert "its position is missing" in named.message


@pytest.mark.parametrize("time", ["infinity", "-infinity", "4713-01-01 00:00:00 BC"])
def test_an_event_recorded_at_a_time_that_no_clock_says_is_named_and_no_other(
    log: Attacked, time: str
) -> None:
    forged = log.event("RunStarted", PASSED)
    plant(
        log, EVENTS, f"UPDATE failproof.events SET recorded_at = '{time}' "
        f"WHERE notification_id = {forged.position}",
    )  # fmt: skip
    assert [(each.kind, each.position) for each in of_rows(verified(log))] == [
        (CLOCK, forged.position)
    ]


def test_a_row_that_the_database_cannot_read_is_named_and_those_behind_it_are_verified(
    log: Attacked,
) -> None:
    """Its state was stored apart, and there is nothing any more where it was stored."""
    one, two = (log.event("Scored", PASSED, n).position for n in (3, 9))
    [[toast]] = log.fetch(
        "SELECT reltoastrelid::regclass FROM pg_class WHERE oid = 'failproof.events'::regclass"
    )
    kept = log.fetch(f"SELECT DISTINCT chunk_id FROM {toast}")
    for position in (one, two):
        plant(
            log, EVENTS, "ALTER TABLE failproof.events ALTER state SET STORAGE EXTERNAL",
            "UPDATE failproof.events SET state = convert_to(repeat('x', 100000), 'UTF8') "
            f"WHERE notification_id = {position}",
        )  # fmt: skip
    with log.superuser.transaction():
        for statement in (
            "SET LOCAL event_triggers = off",
            "SET LOCAL allow_system_table_mods = on",
            f"UPDATE pg_class SET relkind = 'r' WHERE oid = '{toast}'::regclass",
        ):
            log.superuser.execute(statement.encode())
    gone = f"DELETE FROM {toast} WHERE chunk_id <> ALL (%s)"
    log.superuser.execute(gone.encode(), ([chunk for (chunk,) in kept],))
    result = verified(log)
    named = of_rows(result)
    places = [(each.kind, each.position) for each in named]
    assert places == [(ROW_CHANGED, one), (ROW_CHANGED, two)]
    assert "the database cannot read it" in named[0].message
    assert result.events == log.recorded.sizes.all


def test_a_view_that_fails_at_a_row_is_named_there(log: Attacked) -> None:
    forged = log.event("Scored", PASSED, 3)
    [[definition]] = log.fetch("SELECT pg_get_viewdef('failproof.stored_events'::regclass)")
    by_zero = f"WHEN notification_id THEN 1 / (notification_id - {forged.position}) ELSE 1"
    state = f"substring(state FROM (CASE {forged.position} {by_zero} END)::int) AS state,"
    failing = definition.replace("state,", state, 1)
    log.tamper(f"CREATE OR REPLACE VIEW failproof.stored_events AS {failing}")
    result = verified(log)
    named = first(result, ROW_CHANGED)
    assert (named.position, named.stream_id is not None) == (forged.position, True)
    assert "the database cannot read it: division by zero" in named.message
    assert [each.position for each in result.findings if each.kind == ROW_CHANGED] == [
        forged.position
    ]


# -- tiles -------------------------------------------------------------------------------------

LEAVES = "WHERE level = 0 AND tile = 1"
ODD_TILES = {
    "positions none": f"SET positions = NULL {LEAVES}",
    "a position none": f"SET positions = array_replace(positions, positions[7], NULL) {LEAVES}",
    "too few positions": f"SET positions = positions[1:200] {LEAVES}",
    "too many positions": f"SET positions = positions || 1::bigint {LEAVES}",
    "no positions": f"SET positions = '{{}}' {LEAVES}",
    "positions in rows": "SET positions = (SELECT array_agg(ARRAY[a]) FROM unnest(positions) a) "
    + LEAVES,
    "hashes none": f"SET hashes = NULL {LEAVES}",
    "no hashes": f"SET hashes = '' {LEAVES}",
    "hashes short": f"SET hashes = substring(hashes FROM 2) {LEAVES}",
    "hashes long": f"SET hashes = hashes || sha256('') {LEAVES}",
    "width none": f"SET width = NULL {LEAVES}",
    "width 0": f"SET width = 0 {LEAVES}",
    "width -1": f"SET width = -1 {LEAVES}",
    "width huge": f"SET width = 32767 {LEAVES}",
    "level none": f"SET level = NULL {LEAVES}",
    "level -1": f"SET level = -1 {LEAVES}",
    "level huge": "SET level = 32767 WHERE level = 1",
    "number none": f"SET tile = NULL {LEAVES}",
    "number -1": f"SET tile = -1 {LEAVES}",
    "number huge": f"SET tile = {(1 << 63) - 1} {LEAVES}",
    "number huge above": f"SET tile = {(1 << 63) - 1} WHERE level = 1",
    "upper hashes short": "SET hashes = substring(hashes FROM 2) WHERE level = 1",
    "upper hashes none": "SET hashes = NULL WHERE level = 1",
    "upper width 0": "SET width = 0 WHERE level = 1",
}


_TILES_AT_ONCE = (
    "positions none", "too few positions", "hashes none", "hashes short", "width -1", "level none",
    "number huge", "upper hashes short",
)  # fmt: skip


@pytest.mark.slow
def test_whatever_a_tile_is_made_into_is_named(log: Attacked) -> None:
    plant(log, TILES, "CREATE TABLE public.tiles AS TABLE failproof.ledger_tiles")
    for change, statement in ODD_TILES.items():
        log.tamper(f"UPDATE failproof.ledger_tiles {statement}")
        assert TREE_CHANGED in found(verified(log)), change
        log.tamper(
            "DELETE FROM failproof.ledger_tiles",
            "INSERT INTO failproof.ledger_tiles TABLE public.tiles",
        )
    assert TREE_CHANGED not in found(verified(log))


@pytest.mark.parametrize("change", slow_except(_TILES_AT_ONCE, ODD_TILES))
@pytest.mark.thinned(fast=4, whole=4)
def test_a_tile_that_no_tree_has_is_named_and_nothing_is_signed_over_it(
    log: Attacked, change: str
) -> None:
    plant(log, TILES, f"UPDATE failproof.ledger_tiles {ODD_TILES[change]}")
    assert TREE_CHANGED in found(verified(log))
    with within_seconds(60), log.engine() as store, CheckpointSigner(store, every_s=600) as keeper:
        pass
    assert keeper.trouble is not None
    with within_seconds(60), contextlib.suppress(EvidenceError):
        log.evidence(PASSED)


# -- checkpoints and the origin --------------------------------------------------------------------

ODD_CHECKPOINTS = {
    "garbage": "note = 'garbage'",
    "empty": "note = ''",
    "none": "note = NULL",
    "not UTF-8": f"note = {NO_UTF8}",
    "not UTF-8 in the text": f"note = {NO_UTF8} || note",
    "2 MB": "note = repeat('x', 2000000)",
    "2 MB behind it": "note = note || repeat('x', 2000000)",
    "an origin of 2 MB": "note = repeat('x', 2000000) || note",
    "a key's name of 2 MB": "note = note || '— ' || repeat('+', 2000000) || ' AAAA' || chr(10)",
    "size none": "tree_size = NULL",
    "size -1": "tree_size = -1",
    "size huge": f"tree_size = {(1 << 63) - 1}",
}


@pytest.mark.parametrize(
    "change", slow_except([name for name in ODD_CHECKPOINTS if "MB" not in name], ODD_CHECKPOINTS)
)
def test_a_checkpoint_that_is_none_is_named_in_few_words(log: Attacked, change: str) -> None:
    plant(
        log, CHECKPOINTS, f"UPDATE failproof.ledger_checkpoints SET {ODD_CHECKPOINTS[change]} "
        "WHERE tree_size = (SELECT max(tree_size) FROM failproof.ledger_checkpoints)",
    )  # fmt: skip
    result = verified(log)
    assert SIGNATURE in found(result)
    assert max(len(each.message) for each in result.findings) < 400
    with within_seconds(60), log.engine() as store, CheckpointSigner(store, every_s=600):
        pass


ODD_ORIGINS = {
    "deleted": "DELETE FROM failproof.ledger_identity",
    "none": "UPDATE failproof.ledger_identity SET origin = NULL",
    "empty": "UPDATE failproof.ledger_identity SET origin = ''",
    "not UTF-8": f"UPDATE failproof.ledger_identity SET origin = {NO_UTF8}",
    "2 MB": "UPDATE failproof.ledger_identity SET origin = repeat('x', 2000000)",
    "two lines": "UPDATE failproof.ledger_identity SET origin = origin || chr(10) || 'x'",
}


@pytest.mark.parametrize("change", slow_except(("deleted", "not UTF-8"), ODD_ORIGINS))
@pytest.mark.thinned(whole=2)
def test_a_log_that_does_not_say_which_it_is_is_verified_all_the_same(
    log: Attacked, change: str
) -> None:
    forged = log.event("Scored", PASSED, 7).position
    topic = f"UPDATE failproof.events SET topic = 'Forged' WHERE notification_id = {forged}"
    plant(log, "ledger_identity", ODD_ORIGINS[change], topic)
    result = verified(log)
    assert {HISTORY_FORKED, ROW_CHANGED} <= found(result)
    assert first(result, ROW_CHANGED).position == forged
    for key in ((), ("--key", log.public_key)):
        with within_seconds(60):
            said = log.command("verify", *key).output
        assert HISTORY_FORKED in said and "CHANGED since it was recorded" in said
        assert max(map(len, said.splitlines())) < 500
        assert "error:" not in said and "Nothing was signed" not in said
    refused = log.command("ledger", "repair", "--reason", "r", "--force", url=log.url)
    assert refused.exit_code in (1, 2) and "Error:" not in refused.output


def test_what_ends_a_verification_is_not_said_to_be_found_by_verifying(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for command, refers in (("start", True), ("verify", False)):
        report(LedgerBroken("it broke"), debug=False, command=command)
        assert ("`failproof-es verify`" in capsys.readouterr().err) is refers
