"""A log whose tree was hurt gets a new one, on record, and nothing is hidden by it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
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
    KEY_FILE,
    create_key,
    key_path,
    log_key,
    own_file,
)
from failproof_es.assurance.tree import read_edge
from failproof_es.core.case import ledger_id
from failproof_es.events import LedgerRepaired
from failproof_es.ledger import note
from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.ledger.edge import Tile
from failproof_es.ledger.handover import handover
from failproof_es.ledger.merkle import Frontier, perfect_root
from failproof_es.ledger.note import SigningKey
from failproof_es.store import ledger
from failproof_es.store.schema.installation import AUDITOR, WRITER
from failproof_es.store.store import Store
from failproof_es.store.writing.recorder import append_parameters, query
from tests.acceptance.attacks.conftest import tamper
from tests.acceptance.attacks.deadline import within_seconds
from tests.acceptance.attacks.statements import FORGED_RESPONSE, LEAF_OF
from tests.acceptance.attacks.test_impossible_rows import unconstrained
from tests.acceptance.attacks.world import FAILED, PASSED, Author, begin, cases, go_on
from tests.acceptance.commands import invoke, write_configuration, write_suite

REPAIR = ("ledger", "repair", "--reason", "integrated twice by an old version")


@dataclass
class Log:
    """A log of two runs whose tree somebody hurt, and the program as its keeper runs it."""

    store: Store
    administrator: psycopg.Connection[Any]
    folder: Path
    key: SigningKey
    origin: str
    kept: Path = field(default=Path())
    """The last checkpoint of the old tree, kept outside the database."""

    def does(self, *arguments: object, code: int = 0, url: str | None = None, **env: str) -> str:
        done = invoke(url or self.store.url, *arguments, cwd=self.folder, **env)
        assert done.exit_code == code, (arguments, done.output)
        return done.output

    def auditor(self, *arguments: object, code: int = 0) -> str:
        """The same as somebody who has no key of this log at home."""
        url = self.store.url.replace(f"//{WRITER}@", f"//{AUDITOR}@")
        home = str(self.folder / "auditor")
        return self.does(*arguments, code=code, url=url, FAILPROOF_ES_HOME=home)

    def verified(self, *arguments: object, code: int = 0) -> dict[str, Any]:
        document = orjson.loads(self.auditor("verify", *arguments, "--format", "json", code=code))
        assert isinstance(document, dict)
        return document

    @property
    def old_pub(self) -> Path:
        return self.folder / "old.pub"

    @property
    def new_pub(self) -> Path:
        with self.store.connect() as connection:
            return own_file(ledger.origin(connection), "key.pub")

    def tamper(self, *statements: str) -> None:
        tamper(self.administrator, *statements)

    def add(self, tiles: Iterable[Tile]) -> None:
        """Put tiles beside those that are there, whatever they hold."""
        for each in tiles:
            self.administrator.execute(
                "INSERT INTO failproof.ledger_tiles (level, tile, width, hashes, positions) "
                "VALUES (%s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
                (each.level, each.tile, each.width, each.hashes, each.positions),
            )

    def add_checkpoint(self, size: int, text: str) -> None:
        self.administrator.execute(
            "INSERT INTO failproof.ledger_checkpoints (tree_size, note) VALUES (%s, %s)",
            (size, text),
        )


@pytest.fixture
def log(store: Store, administrator: psycopg.Connection[Any], tmp_path: Path) -> Log:
    """Two runs; 256 events are signed, the others are not in the tree yet."""
    with store.connect() as connection:
        origin = ledger.origin(connection)
    key = log_key(origin, create=True)
    log = Log(store, administrator, tmp_path, key, origin, tmp_path / "kept")
    log.old_pub.write_text(f"{key.public}\n")
    author = Author(store, key)
    begin(author)
    with store.connect() as connection:
        left = 256 - ledger.count_events(connection)
    author.store_prompts([*cases("filler"), *cases("more")][:left])
    author.sign()
    with store.connect() as connection:
        assert read_edge(connection).size == 256
        author.sign = lambda: signed_first  # type: ignore[method-assign]
        stored = ledger.newest_checkpoint(connection)
        assert stored is not None
        signed_first = note.parse(stored.note)
    go_on(author)
    author.flush()
    return log


@pytest.fixture
def hurt(log: Log) -> Log:
    """The tree holds the log again from its event 256 on, as old versions made it at 65,536."""
    with log.store.connect() as connection:
        rows = list(ledger.leaf_rows(connection))
    entries = [(row.position, row.leaf_hash or b"") for row in [*rows[:256], *rows]]
    for size in (300, 400, 512, 600, len(entries)):
        sign_over(log, entries[:size])
    return log


def sign_over(log: Log, entries: Sequence[tuple[int, bytes]]) -> None:
    """Store and sign a tree of these leaves, in whatever order they are."""
    leaves = [leaf for _, leaf in entries]
    for number, begin_at in enumerate(range(0, len(entries), 256)):
        block = entries[begin_at : begin_at + 256]
        hashes = b"".join(leaf for _, leaf in block)
        log.add([Tile(0, number, len(block), hashes, [position for position, _ in block])])
    full = [perfect_root(leaves[at : at + 256]) for at in range(0, len(leaves) - 255, 256)]
    log.add([Tile(1, 0, len(full), b"".join(full))])
    tree = Frontier()
    tree.extend(leaves)
    signed = Checkpoint(log.origin, tree.size, tree.root()).signed(log.key)
    log.add_checkpoint(tree.size, str(signed))
    log.kept.write_text(str(signed))


# -- the way back ------------------------------------------------------------------------------


def test_a_tree_that_holds_the_log_twice_is_replaced_and_everything_goes_on(hurt: Log) -> None:
    assert "tree goes back: event 256" in hurt.does("verify", code=1)
    assert "it holds some twice" in hurt.does("ledger", "checkpoint", code=1)
    said = hurt.does(*REPAIR)
    assert "signed" in said
    told = hurt.does("verify")
    assert f"the tree of {hurt.origin} (" in told
    assert "was replaced at" in told and "integrated twice by an old version" in told
    assert "is in the log as it was signed" in told
    assert "its key signed for the new tree" in told
    assert "genuine" in told
    for run, name in (("1", "the first try"), ("2", "the second try")):
        hurt.does("evidence", "export", run, "-o", "run.evidence")
        proven = hurt.does("evidence", "verify", "run.evidence", "--key", hurt.new_pub)
        assert "genuine" in proven and name in proven
        assert "genuine and whole" in hurt.does("verify", run)
    author = Author(hurt.store, hurt.key)
    author.store_prompts(cases("after the repair"))
    author.flush()
    hurt.does("ledger", "checkpoint")
    assert "genuine" in hurt.does("verify", "--incremental")
    assert "signed; " in hurt.does("ledger", "watch")


def test_a_repair_is_an_event_that_says_who_why_and_from_where(hurt: Log) -> None:
    hurt.does(*REPAIR)
    with hurt.store.connect() as connection:
        [row] = ledger.stream_rows(connection, [ledger_id()])
        newest = ledger.checkpoints(connection)
        old = ledger.checkpoints(connection, 0)
    event = orjson.loads(row.state)
    assert event["reason"] == "integrated twice by an old version"
    assert event["who"] and event["where"]
    assert event["old_origin"] == hurt.origin
    assert event["old_checkpoint"] == hurt.kept.read_text() == old[-1].note
    assert event["old_tree_size"] == old[-1].tree_size
    assert event["findings"][0]["kind"] == "tree goes back"
    assert event["more_findings"]["tree goes back"] == 256 - 20
    assert (event["new_origin"] != hurt.origin, event["forced"]) == (True, False)
    assert newest[0].tree_size == 0
    assert "LedgerRepaired" in hurt.does("log", "--type", "LedgerRepaired")


def test_who_holds_the_old_key_and_an_old_checkpoint_is_told_that_it_is_still_good(
    hurt: Log,
) -> None:
    """The old key signs for the new one, so what an auditor has had since ever is enough."""
    hurt.does(*REPAIR)
    for key in (hurt.old_pub, hurt.new_pub):
        found = hurt.verified("--key", key, "--checkpoint", hurt.kept)
        assert (found["genuine"], found["findings"]) == (True, [])
        [replaced] = found["replaced"]
        assert replaced["origin"] == hurt.origin
        assert replaced["anchored_size"] == replaced["signed_size"] == replaced["events"]
        assert (replaced["intact"], replaced["vouched_for"]) == (True, True)
        # The old checkpoint signs every event that was in the log when it was made.
        assert found["anchored_outside"] == found["events"] - 1


def test_a_tree_can_be_replaced_again(hurt: Log) -> None:
    hurt.does(*REPAIR)
    hurt.does(*REPAIR, "--force")
    found = hurt.verified("--key", hurt.old_pub, "--checkpoint", hurt.kept)
    assert found["genuine"]
    assert len(found["replaced"]) == 2
    assert all(each["vouched_for"] and each["intact"] for each in found["replaced"])


def test_a_run_from_before_a_repair_is_replayed_and_proven_after_it(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    write_suite(tmp_path, 3)
    write_configuration(tmp_path, mock_url)

    def does(*arguments: object) -> str:
        done = invoke(store.url, *arguments, cwd=tmp_path)
        assert done.exit_code == 0, (arguments, done.output)
        return done.output

    does("start", "run.yaml")
    does("ledger", "key", "-o", "old.pub")
    does("evidence", "export", "1", "-o", "before.evidence")
    does(*REPAIR, "--force")
    does("start", "run.yaml")
    does("ledger", "key", "-o", "new.pub")
    does("replay", "1")
    does("replay", "1", "--as-of", "2100-01-01")
    does("evidence", "export", "1", "-o", "after.evidence")
    for bundle, key in (("before", "old"), ("after", "new")):
        said = does("evidence", "verify", f"{bundle}.evidence", "--key", f"{key}.pub", "--replay")
        assert "3 evaluations agree, 0 differ" in said
    assert "genuine and whole" in does("verify", "2")
    assert "genuine" in does("verify")


@pytest.mark.parametrize("what", ["tile behind the edge", "wide tile", "checkpoint"])
def test_what_somebody_added_to_the_tree_is_left_behind_by_a_repair(log: Log, what: str) -> None:
    log.does("ledger", "checkpoint")
    with log.store.connect() as connection:
        size = read_edge(connection).size
    wrong = bytes(32)
    if what == "tile behind the edge":
        log.add([Tile(0, 1_000, 1, wrong, [1_000_000])])
    elif what == "wide tile":
        number, width = divmod(size, 256)
        log.add([Tile(0, number, width + 1, wrong * (width + 1), list(range(1, width + 2)))])
    else:
        other = SigningKey.generate(log.origin)
        log.add_checkpoint(size + 5, str(Checkpoint(log.origin, size + 5, wrong).signed(other)))
    # A checkpoint that is not of this key is passed over; `verify` names it.
    log.does("ledger", "checkpoint", code=0 if what == "checkpoint" else 1)
    log.does("verify", code=1)
    log.does(*REPAIR)
    found = log.verified("--key", log.old_pub)
    assert (found["genuine"], found["findings"]) == (True, [])
    [replaced] = found["replaced"]
    assert (replaced["signed_size"], replaced["intact"]) == (size, True)
    if what == "checkpoint":
        assert any("proves nothing" in remark for remark in replaced["remarks"])


# -- when it is refused ------------------------------------------------------------------------


def test_a_repair_wants_a_reason_and_something_to_repair(log: Log) -> None:
    log.does("ledger", "checkpoint")
    log.does("ledger", "repair", code=2)
    assert "needs a reason" in log.does("ledger", "repair", "--reason", " ", code=2)
    assert "there is nothing to repair" in log.does(*REPAIR, code=2)
    with log.store.connect() as connection:
        assert ledger.origin(connection) == log.origin
    assert list(key_path(log.origin).parent.glob("*.key")) == [key_path(log.origin)]
    log.does(*REPAIR, "--force")
    assert log.verified("--key", log.old_pub)["genuine"]


def test_an_event_that_was_changed_stops_a_repair_and_nothing_is_begun(hurt: Log) -> None:
    hurt.tamper("UPDATE failproof.events SET topic = 'Forged' WHERE notification_id = 100")
    assert "position 100" in hurt.does(*REPAIR, "--force", code=1)
    with hurt.store.connect() as connection:
        assert ledger.origin(connection) == hurt.origin
        assert list(ledger.stream_rows(connection, [ledger_id()])) == []
    assert list(key_path(hurt.origin).parent.glob("*.key")) == [key_path(hurt.origin)]


def test_without_the_old_key_a_repair_must_be_wanted_and_the_new_key_is_given_by_hand(
    hurt: Log,
) -> None:
    key_path(hurt.origin).unlink()
    assert "--without-old-key" in hurt.does(*REPAIR, code=2)
    hurt.does(*REPAIR, "--without-old-key")
    found = hurt.verified("--key", hurt.old_pub, code=1)
    assert "history forked" in {each["kind"] for each in found["findings"]}
    found = hurt.verified("--key", hurt.new_pub, "--checkpoint", hurt.kept)
    assert (found["genuine"], found["replaced"][0]["vouched_for"]) == (True, False)
    assert "did not sign for" in found["replaced"][0]["remarks"][0]


def test_where_the_environment_names_the_key_file_the_new_key_stands_beside_it_unused(
    hurt: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = hurt.folder / "my.key"
    key_path(hurt.origin).rename(own)
    monkeypatch.setenv(KEY_FILE, str(own))
    assert "not signed yet" in hurt.does(*REPAIR)
    monkeypatch.setenv(KEY_FILE, str(hurt.new_pub.with_suffix("")))
    hurt.does("ledger", "checkpoint")
    assert hurt.verified("--key", hurt.old_pub)["genuine"]


def test_a_watcher_of_the_old_tree_is_told_to_look(hurt: Log) -> None:
    hurt.does(*REPAIR)
    said = hurt.does("ledger", "watch", hurt.kept, code=1)
    assert "replaced" in said and "verify --checkpoint" in said


# -- nobody hides a forgery behind a repair ------------------------------------------------------


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
        f"state, run_id, recorded_at) OVERRIDING SYSTEM VALUE SELECT {gap}, gen_random_uuid(), 1, "
        "topic, state, run_id, "
        f"(SELECT recorded_at FROM failproof.events WHERE notification_id = {gap - 1}) "
        f"+ interval '{recorded_after}' "
        f"FROM failproof.events WHERE run_id = '{PASSED}' AND topic = 'Scored' LIMIT 1"
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
    assert "another repair began a new tree meanwhile" in said
    assert "run `failproof-es verify`" in said
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


@pytest.fixture
def repaired(log: Log) -> Log:
    """A whole log with a new tree all the same."""
    log.does("ledger", "checkpoint")
    log.does(*REPAIR, "--force")
    assert "genuine" in log.does("verify")
    return log


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


@pytest.mark.parametrize("before", [0, 1], ids=["first tree", "repaired before"])
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
