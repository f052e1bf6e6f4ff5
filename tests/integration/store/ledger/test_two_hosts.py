"""A log that was never signed, and two hosts that would sign it at once: one makes the key."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from failproof_es.assurance.signing import checkpoint_signer, signing_key
from failproof_es.assurance.signing.checkpoint_signer import (
    CheckpointSigner,
    sign_and_keep_checkpoint,
)
from failproof_es.ledger.note import SigningKey
from failproof_es.problems import InvalidInput
from failproof_es.store.store import Store
from tests.integration.store.ledger.test_ledger import append


class Hosts(threading.local):
    """Which host a thread is on."""

    home = Path()


def test_of_two_hosts_that_sign_first_at_once_one_makes_the_key(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(store, 0, 3)
    here, both = Hosts(), threading.Barrier(2)
    log_key = signing_key.log_key

    def with_both(origin: str, *, create: bool = False) -> SigningKey:
        with suppress(threading.BrokenBarrierError):  # it is passed only where both make a key
            both.wait(timeout=1)
        return log_key(origin, create=create)

    monkeypatch.setattr(signing_key, "folder", lambda: here.home)
    monkeypatch.setattr(checkpoint_signer, "log_key", with_both)

    def sign(name: str) -> str:
        here.home = tmp_path / name
        try:
            with store.connect() as connection:
                sign_and_keep_checkpoint(connection)
        except InvalidInput as error:
            return str(error)
        return "signed"

    with ThreadPoolExecutor(2) as pool:
        said = sorted(pool.map(sign, ("one host", "another host")), reverse=True)
    assert said[0] == "signed"
    assert "is signed with a key that is not in" in said[1]
    assert len(list(tmp_path.rglob("*.key"))) == 1


def test_a_host_without_the_key_signs_nothing_and_makes_none(store: Store, home: Path) -> None:
    append(store, 0, 3)
    with CheckpointSigner(store, only_with_key=True) as keeper:
        pass
    assert keeper.trouble is None
    assert list(home.rglob("*.key")) == []
    with CheckpointSigner(store):
        pass
    assert len(list(home.rglob("*.key"))) == 1
