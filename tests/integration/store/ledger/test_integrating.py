"""Events are integrated in batches: none is left out, taken twice, or mistaken for a change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from failproof_es.assurance.checking.verification import verify_log
from failproof_es.assurance.signing import integrator
from failproof_es.assurance.signing.integrator import integrate, sign_checkpoint
from failproof_es.ledger import merkle
from failproof_es.ledger.note import SigningKey
from failproof_es.store import ledger
from failproof_es.store.store import Store
from tests.integration.store.ledger.test_large_tree import write
from tests.selection import wide_except


@pytest.mark.parametrize("events", wide_except((512, 513, 1_024), (511, 512, 513, 768, 1_024)))
def test_a_batch_that_is_exactly_full_leaves_nothing_out_and_takes_nothing_twice(
    store: Store,
    administrator: psycopg.Connection[Any],
    monkeypatch: pytest.MonkeyPatch,
    events: int,
) -> None:
    monkeypatch.setattr(integrator, "_BATCH", 512)
    with store.connect() as connection:
        key = SigningKey.generate(ledger.origin(connection))
        write(administrator, events)
        assert integrate(connection) == events
        sign_checkpoint(connection, key, None)
        result = verify_log(connection, key.public)
        assert (result.findings, result.tree_size, result.signed_size) == ([], events, events)


@pytest.mark.slow
@pytest.mark.parametrize(
    "events", wide_except((65_536,), (50_000, 50_001, 65_536, 65_537, 100_000))
)
def test_a_long_log_is_integrated_once_and_the_database_computes_its_roots(
    store: Store, administrator: psycopg.Connection[Any], events: int
) -> None:
    """A tile of roots is full at 65,536 events, and the integrator takes 50,000 at a time."""
    with store.connect() as connection:
        key = SigningKey.generate(ledger.origin(connection))
        write(administrator, events)
        sign_checkpoint(connection, key, None)
        write(administrator, 257)
        sign_checkpoint(connection, key, None)
        result = verify_log(connection, key.public)
        assert (result.findings, result.signed_size) == ([], events + 257)
        hashes = [row.leaf_hash or b"" for row in ledger.leaf_rows(connection)]
    for size in (events, events + 1, events + 257):
        [(root,)] = administrator.execute("SELECT failproof.tree_root(%s)", (size,)).fetchall()
        tree = merkle.Frontier()
        tree.extend(hashes[:size])
        assert root == tree.root(), size


def test_what_is_integrated_while_the_rows_are_verified_is_no_change_of_the_tree(
    store: Store, administrator: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with store.connect() as connection, store.connect() as meanwhile:
        key = SigningKey.generate(ledger.origin(connection))
        write(administrator, 600)
        sign_checkpoint(connection, key, None)

        def leaf_rows(*arguments: Any) -> Iterator[ledger.LeafRow]:
            monkeypatch.undo()
            found = list(ledger.leaf_rows(*arguments))
            write(administrator, 300)
            sign_checkpoint(meanwhile, key, None)
            return (row for row in found)

        monkeypatch.setattr(ledger, "leaf_rows", leaf_rows)
        assert verify_log(connection, key.public).findings == []
