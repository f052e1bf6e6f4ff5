"""A run, cosigned by a second party, handed on as evidence: by the command line."""

from __future__ import annotations

from pathlib import Path

from failproof_es.assurance.signing_key import log_key
from failproof_es.store import ledger
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, run, write_configuration, write_suite


def test_a_cosigned_run_travels_as_evidence_and_a_forged_history_is_not_cosigned(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    write_suite(tmp_path, 3)
    write_configuration(tmp_path, mock_url)
    assert run(store.url, "start", "run.yaml", cwd=tmp_path).returncode == 0
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
    witness = (tmp_path / "w.key.pub").read_text()
    said = does("evidence", "verify", "run.evidence", "--key", key, "--cosigner", witness,
                "--replay")  # fmt: skip
    assert "cosigned by witness.example" in said
    assert "3 evaluations agree, 0 differ" in said
    damaged = (tmp_path / "run.evidence").read_bytes().replace(b"scored 3", b"scored 2")
    (tmp_path / "damaged").write_bytes(damaged)
    assert "NOT genuine" in does("evidence", "verify", "damaged", "--key", key, code=1)
    # The log goes on; what it sends without a proof from where the witness stood is refused.
    assert run(store.url, "start", "run.yaml", cwd=tmp_path).returncode == 0
    does("ledger", "checkpoint", "-o", "later")
    assert "ask for `ledger checkpoint --since" in does(
        "ledger", "cosign", "later", *cosign, code=2
    )
    assert "attempt 2 of 2" in does("verify", "2", "--key", key)
