"""A log that nobody signed: its key is made once, aloud, and never by a host that only records."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from failproof_es.assurance.signing.checkpoint_signer import (
    CheckpointSigner,
    make_key,
    sign_and_keep_checkpoint,
)
from failproof_es.problems import InvalidInput
from failproof_es.store.store import Store
from tests.integration.store.ledger.test_ledger import append


@pytest.fixture(autouse=True)
def a_host_without_the_key(store: Store, home: Path) -> None:
    for key in home.rglob("*.key"):
        key.unlink()


def keys(home: Path) -> list[Path]:
    return list(home.rglob("*.key"))


def test_a_host_without_the_key_signs_nothing_and_makes_none(store: Store, home: Path) -> None:
    append(store, 0, 3)
    with CheckpointSigner(store) as keeper:
        pass
    assert keeper.trouble is None and not keeper.is_signer
    refused = pytest.raises(InvalidInput, match=r"db init.*\[no-signing-key\]")
    with store.connect() as connection, refused:
        sign_and_keep_checkpoint(connection)
    assert keys(home) == []


def test_the_key_of_a_log_is_made_once_however_often_and_at_once(store: Store, home: Path) -> None:
    def make(_: int) -> Path | None:
        with store.connect() as connection:
            return make_key(connection)

    with ThreadPoolExecutor(4) as pool:
        made = [path for path in pool.map(make, range(8)) if path is not None]
    assert made == keys(home)
    append(store, 0, 3)
    with CheckpointSigner(store) as keeper:
        pass
    assert keeper.trouble is None and keeper.is_signer


def test_a_log_that_another_host_signs_gets_no_second_key(
    store: Store, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(store, 0, 3)
    with store.connect() as connection:
        assert make_key(connection) is not None
        sign_and_keep_checkpoint(connection)
        monkeypatch.setenv("FAILPROOF_ES_HOME", str(tmp_path / "another host"))
        assert make_key(connection) is None
        with pytest.raises(InvalidInput, match=r"restore the file.*\[no-signing-key\]"):
            sign_and_keep_checkpoint(connection)
    assert keys(tmp_path) == []
