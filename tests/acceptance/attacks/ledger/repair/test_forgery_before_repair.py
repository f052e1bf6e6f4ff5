"""Nobody hides a forgery behind a repair, nor a row or a tile that cannot be."""

from __future__ import annotations

import re
from typing import Any

import orjson
import psycopg
import pytest

from failproof_es.assurance.checking.findings import (
    CLOCK,
    IN_BETWEEN,
    REPLACED_TREE,
    ROW_IMPOSSIBLE,
    TREE_CHANGED,
)
from failproof_es.assurance.signing.signing_key import (
    create_key,
)
from failproof_es.assurance.tree import read_edge
from failproof_es.core.case import ledger_id
from failproof_es.events import LedgerRepaired
from failproof_es.ledger.handover import handover
from failproof_es.ledger.note import SigningKey
from failproof_es.store import ledger
from failproof_es.store.writing.recorder import append_parameters, query
from tests.acceptance.attacks.deadline import within_seconds
from tests.acceptance.attacks.ledger.repair.conftest import REPAIR, Log
from tests.acceptance.attacks.statements import FORGED_RESPONSE, LEAF_OF
from tests.acceptance.attacks.test_impossible_rows import unconstrained
from tests.acceptance.attacks.world import FAILED, PASSED
from tests.selection import slow_except


def forge(log: Log) -> None:
    """A response that was signed is another one now, and its leaf fits it."""
    log.tamper(
        f"UPDATE failproof.events SET state = {FORGED_RESPONSE} WHERE run_id = '{FAILED}' "
        "AND topic = 'ResponseReceived'",
        f"UPDATE failproof.events SET leaf_hash = {LEAF_OF} WHERE run_id = '{FAILED}'",
    )


def test_a_forged_event_is_not_laundered_by_a_repair(hurt: Log) -> None:
    """By a superuser who has the log's key, too."""
    forge(hurt)
    assert "would not repair" in hurt.does(*REPAIR, code=2)
    hurt.does(*REPAIR, "--force")
    for arguments in ((), ("--checkpoint", hurt.kept)):
        found = hurt.verified("--key", hurt.old_pub, *arguments, code=1)
        assert {each["kind"] for each in found["findings"]} == {"replaced tree"}
        assert not found["replaced"][0]["intact"]
    assert "not everything" in hurt.does("verify", code=1)


def test_nor_when_the_old_tree_is_deleted_first_for_who_kept_a_checkpoint(hurt: Log) -> None:
    forge(hurt)
    hurt.tamper("DELETE FROM failproof.ledger_tiles", "DELETE FROM failproof.ledger_checkpoints")
    hurt.does(*REPAIR, "--force")
    found = hurt.verified("--key", hurt.old_pub, "--checkpoint", hurt.kept, code=1)
    assert "does not give its root" in found["findings"][0]["message"]


def test_window_without_anything_outside_a_log_that_was_rebuilt_is_genuine_repaired_or_not(
    hurt: Log,
) -> None:
    forge(hurt)
    hurt.tamper("DELETE FROM failproof.ledger_tiles", "DELETE FROM failproof.ledger_checkpoints")
    hurt.does(*REPAIR, "--force")
    assert hurt.verified("--key", hurt.old_pub)["genuine"]


def test_nor_when_the_old_tree_is_deleted_afterwards(hurt: Log) -> None:
    hurt.does(*REPAIR)
    hurt.tamper("DELETE FROM failproof.ledger_tiles WHERE tree = 0 AND level = 0")
    found = hurt.verified("--key", hurt.old_pub, code=1)
    assert {each["kind"] for each in found["findings"]} == {"replaced tree"}
    assert not found["replaced"][0]["intact"]


def slipped_in(log: Log, recorded_after: str) -> int:
    """Put an event into a gap of the positions, recorded so long after the one before it.

    Returns its position.
    """
    with log.store.connect() as connection:
        positions = [row.position for row in ledger.leaf_rows(connection)]
    gap = next(p for p in range(1, positions[-1]) if p not in positions)
    log.tamper(
        "INSERT INTO failproof.events (notification_id, originator_id, originator_version, topic, "
        "state, run_id, leaf_hash, recorded_at) OVERRIDING SYSTEM VALUE "
        f"SELECT {gap}, new.id, 1, topic, state, run_id, "
        "failproof.leaf_of(new.id, 1, topic, state), "
        f"(SELECT recorded_at FROM failproof.events WHERE notification_id = {gap - 1}) "
        f"+ interval '{recorded_after}' "
        "FROM failproof.events, (SELECT gen_random_uuid() AS id) AS new "
        f"WHERE run_id = '{PASSED}' AND topic = 'Scored' LIMIT 1"
    )
    return gap


def test_an_event_slipped_into_a_gap_before_a_repair_is_named_after_it(hurt: Log) -> None:
    """By somebody who knows that `recorded_at` is looked at, too."""
    gap = slipped_in(hurt, recorded_after="0 seconds")
    hurt.does(*REPAIR, "--force")
    found = hurt.verified("--key", hurt.old_pub, code=1)
    [named] = found["findings"]
    assert (named["kind"], named["position"]) == (REPLACED_TREE, gap)


def test_so_are_the_events_behind_it_where_it_was_recorded_long_after_them(hurt: Log) -> None:
    gap = slipped_in(hurt, recorded_after="2 hours")
    hurt.does(*REPAIR, "--force")
    found = hurt.verified("--key", hurt.old_pub, code=1)
    positions = {each["kind"]: each["position"] for each in reversed(found["findings"])}
    assert positions == {CLOCK: gap + 1, REPLACED_TREE: gap}


def test_a_tree_that_no_repair_began_is_named(hurt: Log) -> None:
    hurt.tamper("INSERT INTO failproof.ledger_identity VALUES ('failproof-es/another', now(), 1)")
    found = hurt.verified("--key", hurt.old_pub, code=1)
    assert any("without a recorded repair" in each["message"] for each in found["findings"])


def test_a_repair_whose_tree_was_taken_away_is_named(hurt: Log) -> None:
    hurt.does(*REPAIR)
    hurt.tamper("DELETE FROM failproof.ledger_identity WHERE tree = 1")
    found = hurt.verified("--key", hurt.old_pub, code=1)
    assert any("it is not there" in each["message"] for each in found["findings"])


def recorded(log: Log, new: SigningKey, signed_by: SigningKey | None) -> LedgerRepaired:
    """The event of a repair that the program did not make."""
    event = LedgerRepaired.model_validate(
        {
            "originator_id": ledger_id(), "originator_version": 1, "run_id": None,
            "timestamp": "2026-11-21T10:00:00Z", "reason": "r", "who": "w", "where": "h",
            "old_origin": log.origin, "old_key": None, "old_tree_size": 0, "old_checkpoint": None,
            "new_origin": new.name, "new_key": str(new.public),
            "forced": False, "handover": signed_by and str(handover(signed_by, new.public)),
            "findings": (), "more_findings": {},
        }
    )  # fmt: skip
    entry = log.store.log.mapper.to_stored_event(event)
    with log.store.connect() as connection:
        connection.execute(query("append"), append_parameters([entry]))
        ledger.begin_tree(connection, ledger_id(), 1)
    return event


def test_whoever_has_the_engine_s_login_and_no_key_begins_no_tree_that_is_believed(
    hurt: Log,
) -> None:
    thief = SigningKey.generate("failproof-es/thief")
    recorded(hurt, thief, SigningKey.generate(hurt.origin))
    found = hurt.verified("--key", hurt.old_pub, code=1)
    assert "history forked" in {each["kind"] for each in found["findings"]}


def test_the_database_begins_no_tree_that_the_log_does_not_tell_of(hurt: Log) -> None:
    with (
        hurt.store.connect() as connection,
        pytest.raises(psycopg.Error, match="no event on record replaces the tree"),
    ):
        ledger.begin_tree(connection, ledger_id(), 1)
    recorded(hurt, SigningKey.generate("failproof-es/new"), hurt.key)
    with (
        hurt.store.connect() as connection,
        pytest.raises(psycopg.Error, match="no event on record replaces the tree"),
    ):
        ledger.begin_tree(connection, ledger_id(), 1)


def test_a_repair_that_another_one_overtakes_begins_no_tree(
    hurt: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(*arguments: Any) -> SigningKey:
        recorded(hurt, SigningKey.generate("failproof-es/faster"), hurt.key)
        return create_key(*arguments)

    monkeypatch.setattr("failproof_es.assurance.repair.create_key", slowly)
    said = hurt.does(*REPAIR, code=2)
    assert "[already-repaired]" in said
    with hurt.store.connect() as connection:
        assert ledger.origin(connection) == "failproof-es/faster"


# -- what neither an event nor a tile can be -----------------------------------------------------


def plant(log: Log, table: str, statement: str) -> None:
    """Change something that no constraint would let through."""
    log.tamper(*unconstrained(log.administrator, table), statement)


def put_no_tile(log: Log, tree: int, **columns: str) -> None:
    """Put something among the tiles that is none."""
    row = {
        "tree": str(tree), "level": "0", "tile": "1", "width": "200", "hashes": r"'\x00'",
        "positions": "'{1}'", **columns,
    }  # fmt: skip
    plant(
        log, "ledger_tiles", f"INSERT INTO failproof.ledger_tiles ({', '.join(row)}) "
        f"VALUES ({', '.join(row.values())})",
    )  # fmt: skip


def about_the_log(found: dict[str, Any]) -> list[dict[str, Any]]:
    """The findings, without those of the constraints that were taken away."""
    return [each for each in found["findings"] if each["kind"] != IN_BETWEEN]


@pytest.mark.parametrize(("version", "topic"), [("-5", "'Scored'"), ("1", "repeat('x', 70000)")])
def test_a_row_that_no_event_has_is_named_behind_a_repair_and_stops_the_next_one(
    repaired: Log, version: str, topic: str
) -> None:
    plant(
        repaired, "events", "INSERT INTO failproof.events (originator_id, originator_version, "
        f"topic, state) VALUES (gen_random_uuid(), {version}, {topic}, '{{}}')",
    )  # fmt: skip
    for arguments in (("verify",), ("verify", "--incremental")):
        with within_seconds(60):
            said = repaired.does(*arguments, code=1)
        assert (
            ROW_IMPOSSIBLE in said
            and "error:" not in said
            and "CHANGED since it was recorded" in said
        )
    assert "is not an event" in repaired.does(*REPAIR, code=1)


@pytest.mark.parametrize("before", slow_except([0], [0, 1]), ids=["first tree", "repaired before"])
def test_a_tree_with_a_tile_that_is_none_is_named_and_replaced(log: Log, before: int) -> None:
    log.does("ledger", "checkpoint")
    with log.store.connect() as connection:
        size = read_edge(connection).size
    if before:
        log.does(*REPAIR, "--force")
        size += 1
    number, width = divmod(size, 256)
    assert width < 200
    put_no_tile(log, before, tile=str(number))
    said = log.does("verify", code=1)
    assert TREE_CHANGED in said and "error:" not in said
    assert "old_tree_size" in log.does(*REPAIR, "--format", "json")
    with log.store.connect() as connection:
        *_, row = ledger.stream_rows(connection, [ledger_id()])
    assert orjson.loads(row.state)["old_tree_size"] == size
    found = log.verified("--key", log.old_pub, code=1)
    assert found["replaced"][-1]["intact"] and not about_the_log(found)
    assert f"tile {number} of level 0 is not a tile" in found["replaced"][-1]["remarks"][-1]


NO_TILES = {
    "hashes short": {},
    "hashes none": {"hashes": "NULL"},
    "number none": {"tile": "NULL"},
    "number -1": {"tile": "-1"},
    "level none": {"level": "NULL"},
    "width none": {"width": "NULL"},
    "width 300": {"width": "300", "hashes": "decode(repeat('00', 9600), 'hex')"},
    "width 0": {"width": "0", "hashes": "''"},
    "positions none": {"positions": "NULL"},
    "positions in rows": {"positions": "'{{1,2},{3,4}}'"},
    "a position none": {
        "width": "1", "hashes": "sha256('')", "positions": "ARRAY[NULL]::bigint[]",
    },
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("columns", NO_TILES.values(), ids=NO_TILES.keys())
@pytest.mark.thinned(fast=2, whole=3)
def test_what_is_no_tile_and_was_put_into_a_replaced_tree_is_named(
    repaired: Log, columns: dict[str, str]
) -> None:
    put_no_tile(repaired, 0, **columns)
    with within_seconds(60):
        found = repaired.verified("--key", repaired.old_pub, code=1)
    [named] = about_the_log(found)
    assert named["kind"] in (REPLACED_TREE, TREE_CHANGED)
    assert re.search("no tile|not a tile", named["message"])
    [replaced] = found["replaced"]
    assert replaced["events"] == replaced["signed_size"]
