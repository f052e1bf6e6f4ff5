"""A ledger of an older version is upgraded in place: tiles, checkpoints and origin stay."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from failproof_es.assurance.checking.verification import verify_log
from failproof_es.assurance.signing.integrator import sign_checkpoint
from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.ledger.edge import Edge
from failproof_es.ledger.note import SigningKey
from failproof_es.store import ledger
from failproof_es.store.ledger import LogTree
from failproof_es.store.schema import migration
from failproof_es.store.schema.installation import WRITER, install
from failproof_es.store.schema.protection_layers import missing_layers
from tests.integration.store.ledger.test_large_tree import write

BEFORE_TREES_HAD_NUMBERS = 6
"""Migrations."""


def sign_as_then(connection: psycopg.Connection[Any]) -> SigningKey:
    """Put the log into its one tree, and sign that."""
    [(origin,)] = connection.execute("SELECT origin FROM failproof.ledger_identity").fetchall()
    edge, tiles = Edge(), []
    for row in ledger.leaf_rows(connection):
        tiles += edge.add(row.position, row.leaf_hash or b"")
    for each in (*tiles, *edge.partial()):
        connection.execute(
            "INSERT INTO failproof.ledger_tiles VALUES (%s, %s, %s, %s, %s)",
            (each.level, each.tile, each.width, each.hashes, each.positions),
        )
    key = SigningKey.generate(origin)
    signed = Checkpoint(origin, edge.size, edge.root()).signed(key)
    connection.execute(
        "INSERT INTO failproof.ledger_checkpoints (tree_size, note) VALUES (%s, %s)",
        (edge.size, str(signed)),
    )
    return key


def test_a_ledger_without_numbered_trees_is_upgraded_and_gone_on_with(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = migration.migrations()
    with psycopg.connect(database_url, autocommit=True) as administrator:
        with monkeypatch.context() as patched:
            patched.setattr(migration, "migrations", lambda: shipped[:BEFORE_TREES_HAD_NUMBERS])
            migration.migrate(administrator)
        write(administrator, 700)
        key = sign_as_then(administrator)
        rows = "SELECT level, tile, width, hashes, positions FROM failproof.ledger_tiles"
        before = administrator.execute(rows).fetchall()
        done = install(administrator, logins=True)
        assert shipped[BEFORE_TREES_HAD_NUMBERS] in done.migrations
        assert administrator.execute(rows).fetchall() == before
        write(administrator, 100)
    engine = database_url.replace("//postgres@", f"//{WRITER}@")
    with psycopg.connect(engine, autocommit=True) as connection:
        assert missing_layers(connection) == []
        assert ledger.trees(connection) == [LogTree(0, key.name)]
        sign_checkpoint(connection, key, None)
        result = verify_log(connection, key.public)
        assert (result.findings, result.signed_size) == ([], 800)
