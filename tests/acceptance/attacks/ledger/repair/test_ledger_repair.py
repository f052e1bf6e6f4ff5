"""A log whose tree was hurt gets a new one, on record, and nothing is hidden by it."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from failproof_es.assurance.signing.signing_key import (
    KEY_FILE,
    key_path,
)
from failproof_es.assurance.tree import read_edge
from failproof_es.core.case import ledger_id
from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.ledger.edge import Tile
from failproof_es.ledger.note import SigningKey
from failproof_es.store import ledger
from failproof_es.store.store import Store
from tests.acceptance.attacks.ledger.repair.conftest import REPAIR, Log
from tests.acceptance.attacks.world import Author, cases
from tests.acceptance.commands import invoke, write_configuration, write_suite
from tests.selection import slow_except

# -- the way back ------------------------------------------------------------------------------


def test_a_tree_that_holds_the_log_twice_is_replaced_and_everything_goes_on(hurt: Log) -> None:
    assert "tree goes back: event 256" in hurt.does("verify", code=1)
    assert "it holds some events twice" in hurt.does("ledger", "checkpoint", code=1)
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


@pytest.mark.slow
def test_a_tree_can_be_replaced_again(hurt: Log) -> None:
    hurt.does(*REPAIR)
    hurt.does(*REPAIR, "--force")
    found = hurt.verified("--key", hurt.old_pub, "--checkpoint", hurt.kept)
    assert found["genuine"]
    assert len(found["replaced"]) == 2
    assert all(each["vouched_for"] and each["intact"] for each in found["replaced"])


@pytest.mark.slow
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


@pytest.mark.parametrize(
    "what", slow_except(["wide tile"], ["tile behind the edge", "wide tile", "checkpoint"])
)
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


@pytest.mark.slow
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
