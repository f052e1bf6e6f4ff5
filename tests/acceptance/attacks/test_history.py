"""Attacks that make a whole history anew, with the log's own key in the attacker's hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from failproof_es.assurance.checking.findings import (
    HISTORY_FORKED,
    TAIL_CUT,
    TREE_REBUILT,
)
from failproof_es.assurance.checking.verification import verify_log
from failproof_es.assurance.run_evidence import evidence_lines
from failproof_es.assurance.signing.integrator import LedgerBroken, sign_checkpoint
from failproof_es.assurance.signing.kept_checkpoints import Forked, check_continues
from failproof_es.assurance.signing.witness import CosignRequest, cosign_request
from failproof_es.events import RunCompleted
from failproof_es.ledger import bundle
from failproof_es.ledger import checkpoint as checkpoints
from failproof_es.ledger.contents import EvidenceError
from failproof_es.ledger.note import COSIGNATURE, Note, SigningKey
from failproof_es.ledger.tlog_policy import Policy
from failproof_es.problems import InvalidInput
from tests.acceptance.attacks.conftest import Attacked, Recorded, first, found
from tests.acceptance.attacks.ledger.test_tree import seal_again
from tests.acceptance.attacks.statements import FORGED_RESPONSE, LEAF_OF
from tests.acceptance.attacks.world import FAILED, PASSED, Author, cases


def rebuild(log: Attacked, key: SigningKey | None = None) -> Note:
    """Make the tree anew over what the rows hold now, and sign it."""
    log.tamper(
        "TRUNCATE failproof.ledger_tiles",
        "TRUNCATE failproof.ledger_checkpoints",
        f"UPDATE failproof.events SET leaf_hash = {LEAF_OF}",
    )
    with log.engine() as store, store.connect() as connection:
        return sign_checkpoint(connection, key or log.recorded.key, None)


def forge_responses(log: Attacked) -> None:
    """Other answers of the model, with the seal made to fit."""
    place = f"run_id = '{PASSED}' AND topic = 'ResponseReceived'"
    log.tamper(
        f"UPDATE failproof.events SET state = {FORGED_RESPONSE} WHERE {place}",
        f"UPDATE failproof.events SET leaf_hash = {LEAF_OF} WHERE {place}",
    )
    seal_again(log)


def test_the_tree_rebuilt_and_signed_with_the_stolen_key_is_named_by_the_one_outside(
    log: Attacked,
) -> None:
    forge_responses(log)
    rebuild(log)
    result = log.verify(outside=True)
    assert HISTORY_FORKED in found(result)
    assert "is not what it was" in first(result, HISTORY_FORKED).message


def test_window_the_tree_rebuilt_with_the_stolen_key_is_not_found_without_one_outside(
    log: Attacked,
) -> None:
    forge_responses(log)
    rebuild(log)
    assert log.verify().genuine
    assert log.evidence(PASSED).contents.attempts == 2


def test_a_rebuilt_tree_whose_old_checkpoints_were_left_is_named_inside(log: Attacked) -> None:
    forge_responses(log)
    log.tamper("TRUNCATE failproof.ledger_tiles")
    named = first(log.verify(), TREE_REBUILT)
    assert named.index == log.recorded.sizes.failed
    with log.engine() as store, store.connect() as connection, pytest.raises(LedgerBroken):
        sign_checkpoint(connection, log.recorded.key, None)


def test_a_rebuilt_tree_signed_with_another_key_is_refused_to_whoever_has_the_log_s(
    log: Attacked,
) -> None:
    rebuild(log, SigningKey.generate(log.recorded.key.name))
    assert not log.verify().genuine
    with pytest.raises(EvidenceError, match="checkpoint"):
        log.evidence(PASSED)


def test_a_rebuilt_tree_is_not_cosigned(log: Attacked) -> None:
    """A witness that saw the log once asks for a proof, and there is none."""
    forge_responses(log)
    rebuilt = rebuild(log)
    seen = log.outside[0]
    witness = SigningKey.generate("witness.example", COSIGNATURE)
    request = CosignRequest(seen.size, (bytes(32),), rebuilt)
    with pytest.raises(InvalidInput, match=r"\[log-changed\]"):
        cosign_request(request, log.recorded.key.public, witness, seen, 1_800_000_000)


def test_evidence_of_a_rebuilt_tree_is_refused_to_who_asks_for_the_cosignature(
    log: Attacked,
) -> None:
    """The stolen key signs for the log, and not for the witness, whose signature is moved over."""
    witness = SigningKey.generate("witness.example", COSIGNATURE)
    with log.auditor() as connection:
        before = bundle.read(b"".join(evidence_lines(connection, PASSED)))
    cosigned = before.note.signed(witness.sign(before.note.text, at=1_800_000_000))
    honest = replace(before, note=cosigned)
    bundle.verify(honest, Policy.of(log.recorded.key.public, [witness.public]))
    forge_responses(log)
    rebuild(log)
    with log.auditor() as connection:
        forged = bundle.read(b"".join(evidence_lines(connection, PASSED)))
    bundle.verify(forged, Policy.of(log.recorded.key.public))
    moved = replace(forged, note=forged.note.signed(*cosigned.signatures[-1:]))
    for each in (forged, moved):
        with pytest.raises(EvidenceError, match="checkpoint"):
            bundle.verify(each, Policy.of(log.recorded.key.public, [witness.public]))


# -- a failed run is made to disappear -----------------------------------------------------------


def delete_run(log: Attacked) -> None:
    log.tamper(
        f"DELETE FROM failproof.events WHERE run_id = '{FAILED}'",
        f"DELETE FROM failproof.run_numbers WHERE run_id = '{FAILED}'",
    )


def test_a_run_deleted_whole_with_the_tree_rebuilt_is_named_by_the_one_outside(
    log: Attacked,
) -> None:
    delete_run(log)
    rebuild(log)
    assert HISTORY_FORKED in found(log.verify(outside=True))


def test_a_failed_attempt_deleted_with_the_tree_rebuilt_leaves_a_gap_in_the_evidence(
    log: Attacked,
) -> None:
    """Even who has neither the database nor a checkpoint sees that there was another attempt."""
    delete_run(log)
    rebuild(log)
    with pytest.raises(EvidenceError, match="a run of this experiment is missing"):
        log.evidence(PASSED)


def test_window_attempts_renumbered_with_the_tree_rebuilt_are_not_found_without_one_outside(
    log: Attacked,
) -> None:
    delete_run(log)
    renumbered = (
        "convert_to(replace(replace(convert_from(state, 'UTF8'), '\"attempt\":2', "
        "'\"attempt\":1'), '\"run_number\":2', '\"run_number\":1'), 'UTF8')"
    )
    log.tamper(
        f"UPDATE failproof.events SET state = {renumbered} "
        f"WHERE run_id = '{PASSED}' AND topic = 'RunStarted'",
        f"UPDATE failproof.run_numbers SET run_number = 1 WHERE run_id = '{PASSED}'",
        f"UPDATE failproof.events SET leaf_hash = {LEAF_OF}",
    )
    seal_again(log)
    rebuild(log)
    assert log.verify().genuine
    assert log.evidence(PASSED).contents.attempts == 1
    assert HISTORY_FORKED in found(log.verify(outside=True))


# -- an older backup -------------------------------------------------------------------------------


@pytest.fixture
def backup(copy: Any, recorded: Recorded) -> Attacked:
    """The database restored from an older backup."""
    restored: Attacked = copy(recorded.backup)
    return restored


def diverge(log: Attacked) -> Note:
    """Go on from the backup in another way: this time the second attempt goes differently."""
    with log.engine() as store:
        author = Author(store, log.recorded.key)
        asked = cases("asked")
        author.start(PASSED, "the second try", "c0", asked)
        author.evaluate(PASSED, asked, 0.95)
        author.end(PASSED, RunCompleted, 0.95)
        author.store_prompts(cases("more"))
        return author.sign()


def test_an_older_backup_restored_is_named_by_the_one_outside(backup: Attacked) -> None:
    named = first(backup.verify(outside=True), TAIL_CUT)
    assert named.index == backup.recorded.sizes.failed
    assert named.message.endswith("the tail was cut, or an older backup restored")


def test_a_backup_that_went_on_in_another_way_is_named_by_the_one_outside(
    backup: Attacked,
) -> None:
    diverge(backup)
    result = backup.verify(outside=True)
    assert found(result) == {HISTORY_FORKED}
    # What the backup had is signed by a checkpoint that both histories share.
    assert first(result, HISTORY_FORKED).index == backup.recorded.sizes.failed


def test_window_a_backup_that_went_on_is_genuine_to_who_kept_nothing(backup: Attacked) -> None:
    diverge(backup)
    assert backup.verify().genuine


def test_the_engine_itself_notices_a_history_that_does_not_continue_its_own(
    backup: Attacked,
) -> None:
    newest = checkpoints.opened(diverge(backup), backup.recorded.key.public)
    with backup.auditor() as connection, pytest.raises(Forked):
        check_continues(connection, backup.outside[0], newest)


def test_watch_says_that_the_log_was_cut(backup: Attacked) -> None:
    said = watch(backup, backup.kept_file)
    assert said.exit_code != 0
    assert "the tail was cut, or an older backup restored" in said.output


def test_watch_says_that_the_log_forked_and_keeps_what_it_had(backup: Attacked) -> None:
    diverge(backup)
    before = backup.kept_file.read_text("utf-8")
    said = watch(backup, backup.kept_file)
    assert said.exit_code == 1
    assert "are not those of the checkpoint kept" in said.output
    assert backup.kept_file.read_text("utf-8") == before


def watch(log: Attacked, place: Path) -> Any:
    return log.command("ledger", "watch", place, "--log-key", log.public_key)


# -- incremental verification ------------------------------------------------------------------


def test_window_what_was_verified_before_is_not_read_again_when_asked_not_to(
    log: Attacked,
) -> None:
    before = log.verify().verified
    assert before is not None and before.size == 512
    log.tamper("UPDATE failproof.events SET state = state || ' ' WHERE notification_id = 50")
    with log.auditor() as connection:
        public = log.recorded.key.public
        assert verify_log(connection, public, (), before).genuine
        assert not verify_log(connection, public).genuine
