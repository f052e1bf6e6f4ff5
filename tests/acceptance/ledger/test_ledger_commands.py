"""A run, cosigned by a second party, handed on as evidence: by the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from failproof_es.assurance.signing.kept_checkpoints import default_place
from failproof_es.assurance.signing.signing_key import key_path, log_key
from failproof_es.dialects.shipped.failproof import classifier
from failproof_es.store import ledger
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, write_configuration, write_suite
from tests.conftest import as_administrator


def test_a_cosigned_run_travels_as_evidence_and_a_forged_history_is_not_cosigned(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    write_suite(tmp_path, 3)
    write_configuration(tmp_path, mock_url)
    assert invoke(store.url, "start", "run.yaml", cwd=tmp_path).exit_code == 0
    with store.connect() as connection:
        key = str(log_key(ledger.origin(connection)).public)

    def does(*arguments: str, code: int = 0) -> str:
        done = invoke(store.url, *arguments, cwd=tmp_path)
        assert done.exit_code == code, (arguments, done.output)
        return done.output

    cosign = ("--key", "w.key", "--log-key", key, "--seen", "seen")
    does("ledger", "checkpoint", "-o", "checkpoint")
    does("ledger", "cosign", "checkpoint", *cosign, "--name", "witness.example", "-o", "cosigned")
    does("ledger", "checkpoint", "--add", "cosigned")
    (tmp_path / "kept").mkdir()
    assert "nothing was kept before" in does("ledger", "watch", "kept")
    assert "continues" in does("ledger", "watch", "kept")
    does("evidence", "export", "1", "-o", "run.evidence", "--no-checkpoint")
    does("ledger", "key", "-o", "log.pub")
    assert (tmp_path / "log.pub").read_text() == f"{key}\n"
    verify = ("evidence", "verify", "run.evidence", "--key", "log.pub")
    said = does(*verify)
    assert "genuine" in said and "model mock: passed 3 of 3, scored 3 of 3 planned; mock at" in said
    assert does(*verify, "--list").count("\npassed ") == 2
    assert "text: You said: Say number 2." in does(*verify, "--show", "case-00002")
    assert "print all with --list" in does(*verify, "--show", "case-2", code=2)
    assert "exclude each other" in does(*verify, "--list", "--replay", code=2)
    witness = (tmp_path / "w.key.pub").read_text()
    said = does("evidence", "verify", "run.evidence", "--key", key, "--cosigner", witness,
                "--replay")  # fmt: skip
    assert "cosigned by witness.example" in said
    assert "3 evaluations agree, 0 differ" in said
    grade = classifier._grade
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(classifier, "_grade", lambda *of: ("fail", grade(*of)[1]))
        said = does("evidence", "verify", "run.evidence", "--key", key, "--replay", code=1)
    assert "0 evaluations agree, 3 differ" in said
    assert "case-00002 mock: " in said
    damaged = (tmp_path / "run.evidence").read_bytes().replace(b"scored 3", b"scored 2")
    (tmp_path / "damaged").write_bytes(damaged)
    assert "NOT genuine" in does("evidence", "verify", "damaged", "--key", key, code=1)
    # The log goes on; what it sends without a proof from where the witness stood is refused.
    assert invoke(store.url, "start", "run.yaml", cwd=tmp_path).exit_code == 0
    does("ledger", "checkpoint", "-o", "later")
    assert "ask for `ledger checkpoint --since" in does(
        "ledger", "cosign", "later", *cosign, code=2
    )
    assert "attempt 2 of 2" in does("verify", "2", "--key", key)


def test_what_cannot_be_held_to_is_said_and_nothing_passes_for_verified(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    write_suite(tmp_path, 1)
    write_configuration(tmp_path, mock_url)

    def refused(*arguments: str, says: str, **more: str) -> None:
        done = invoke(store.url, *arguments, cwd=tmp_path, **more)
        assert done.exit_code == 2 and says in done.output, (arguments, done.output)

    elsewhere = {"FAILPROOF_ES_HOME": str(tmp_path / "elsewhere")}  # without the log's key
    refused("verify", "--checkpoint", "kept", says="without the log's public key", **elsewhere)
    assert invoke(store.url, "start", "run.yaml", cwd=tmp_path).exit_code == 0
    refused("verify", "--checkpoint", "no-such-place", says="no checkpoint is kept in")
    refused("verify", "1", "--incremental", says="leave out")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    cosign = ("--key", "w.key", "--name", "w", "--log-key")
    with store.connect() as connection:
        key = str(log_key(ledger.origin(connection)).public)
    refused("ledger", "cosign", "binary", *cosign, key, "--seen", "s", says="not a checkpoint")
    done = invoke(store.url, "verify", "1", "--format", "json", cwd=tmp_path)
    assert done.exit_code == 0 and '"genuine":true' in done.output.replace(" ", "")


def test_a_log_that_is_signed_is_never_signed_by_a_second_key(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    write_suite(tmp_path, 1)
    write_configuration(tmp_path, mock_url)
    assert invoke(store.url, "start", "run.yaml", cwd=tmp_path).exit_code == 0
    with store.connect() as connection:
        key = key_path(ledger.origin(connection))
    key.unlink()
    again = invoke(store.url, "start", "run.yaml", cwd=tmp_path)
    assert again.exit_code == 0 and "this host has no key of the log" in again.stderr
    assert invoke(store.url, "ledger", "key", cwd=tmp_path).exit_code == 2
    lost = {"FAILPROOF_ES_LEDGER_KEY": str(tmp_path / "lost.key")}
    again = invoke(store.url, "start", "run.yaml", cwd=tmp_path, **lost)
    assert again.exit_code == 0 and "warning: the log could not be signed" in again.stderr
    assert f"is signed with a key that is not in {tmp_path / 'lost.key'}" in again.stderr
    init = invoke(as_administrator(store.url), "db", "init", cwd=tmp_path)
    assert init.exit_code == 0 and "made the key" not in init.stderr
    assert not key.exists() and not (tmp_path / "lost.key").exists()


def test_a_checkpoint_that_cannot_be_kept_outside_is_said(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    write_suite(tmp_path, 1)
    write_configuration(tmp_path, mock_url)
    with store.connect() as connection:
        default_place(ledger.origin(connection)).mkdir(parents=True)
        (default_place(ledger.origin(connection)) / "newest.checkpoint").mkdir()
    done = invoke(store.url, "start", "run.yaml", cwd=tmp_path)
    assert done.exit_code == 0 and "the log could not be signed" in done.stderr
