"""A log for which no signature stands is called unsigned, and why; that is exit code 1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.ledger.note import SigningKey
from tests.acceptance.attacks.conftest import Attacked

NO_CHECKPOINTS = "DELETE FROM failproof.ledger_checkpoints"


@pytest.fixture
def nowhere(tmp_path: Path) -> Path:
    """The home of somebody who has neither a key nor a checkpoint."""
    return tmp_path / "nobody"


def verify(log: Attacked, *arguments: object, home: Path | None) -> tuple[int, str, dict[str, Any]]:
    """What `verify` says to people and to programs, with one exit code."""
    here = {} if home is None else {"FAILPROOF_ES_HOME": str(home)}
    said = log.command("verify", *arguments, **here)
    told = log.command("verify", *arguments, "--format", "json", **here)
    assert said.exit_code == told.exit_code
    return said.exit_code, said.output, json.loads(told.stdout)


def test_without_a_key_the_log_is_unsigned_and_whoever_verifies_is_told_how_to_give_one(
    log: Attacked, nowhere: Path
) -> None:
    code, said, told = verify(log, home=nowhere)
    assert (code, "UNSIGNED, no problem found" in said) == (1, True)
    assert "to check 3 checkpoints with" in said and "--key" in said
    assert (told["verdict"], told["signatures"]) == ("unsigned", "no public key")
    assert (told["genuine"], told["checkpoints"], told["signed"]) == (False, 3, 0)


def test_with_a_key_and_without_a_checkpoint_the_log_is_unsigned(
    log: Attacked, nowhere: Path
) -> None:
    log.tamper(NO_CHECKPOINTS)
    code, said, told = verify(log, "--key", log.public_key, home=nowhere)
    assert (code, "the database holds no checkpoint" in said) == (1, True)
    assert "no public key" not in said
    assert (told["verdict"], told["signatures"]) == ("unsigned", "no checkpoint")


def test_with_neither_the_log_is_unsigned_and_both_are_named(log: Attacked, nowhere: Path) -> None:
    log.tamper(NO_CHECKPOINTS)
    code, said, told = verify(log, home=nowhere)
    assert (code, told["signatures"]) == (1, "no public key and no checkpoint")
    assert "the database holds no checkpoint, and there is no public key" in said


def test_with_a_key_that_signed_none_of_the_checkpoints_the_log_is_changed_and_it_is_said(
    log: Attacked, nowhere: Path
) -> None:
    origin = log.recorded.key.name
    forged = Checkpoint(origin, 1, bytes(32)).signed(SigningKey.generate(origin))
    log.tamper(
        NO_CHECKPOINTS,
        f"INSERT INTO failproof.ledger_checkpoints (tree_size, note) VALUES (1, '{forged}')",
    )
    code, said, told = verify(log, "--key", log.public_key, "--unsigned", home=nowhere)
    assert (code, "the log's key signed none of 1 checkpoint" in said) == (1, True)
    assert (told["verdict"], told["signatures"]) == ("changed", "none is good")


def test_with_the_key_the_log_is_genuine(log: Attacked, nowhere: Path) -> None:
    code, said, told = verify(log, "--key", log.public_key, home=nowhere)
    assert (code, "unsigned" in said.lower()) == (0, False)
    assert (told["verdict"], told["signatures"], told["genuine"]) == ("genuine", "checked", True)


def test_whoever_accepts_an_unsigned_log_gets_exit_code_0_and_the_same_words(
    log: Attacked, nowhere: Path
) -> None:
    code, said, told = verify(log, "--unsigned", home=nowhere)
    assert (code, "UNSIGNED" in said, told["verdict"]) == (0, True, "unsigned")


def test_an_unsigned_log_with_a_change_is_changed_whatever_is_accepted(
    log: Attacked, nowhere: Path
) -> None:
    log.tamper("DELETE FROM failproof.events WHERE topic = 'RunFailed'")
    code, _, told = verify(log, "--unsigned", home=nowhere)
    assert (code, told["verdict"]) == (1, "changed")


def test_how_far_an_unsigned_log_was_read_is_not_kept_as_verified(
    log: Attacked, nowhere: Path
) -> None:
    verify(log, "--unsigned", home=nowhere)
    assert not list(nowhere.rglob("*.verified"))
