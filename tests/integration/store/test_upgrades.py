"""Logs of older versions, upgraded with what stands in them and gone on with."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import psycopg
import pytest

from failproof_es.assurance.checking.verification import verify_log
from failproof_es.assurance.signing.integrator import sign_checkpoint
from failproof_es.ledger.leaf import leaf_hash
from failproof_es.store import ledger
from failproof_es.store.schema import migration
from failproof_es.store.schema.definitions import differences
from failproof_es.store.schema.installation import WRITER, SchemaState, install, schema_state
from failproof_es.store.store import Store
from tests.integration.store.ledger.test_ledger_upgrade import sign_as_then

EVERY_BYTE = "SELECT e::text FROM failproof.events AS e ORDER BY notification_id"
UNCHECKED = 6
"""The last migration of the versions that checked little of what a writer put there."""


STATE = b'{"schema_version":1,"run_id":null}'


def append_rows(connection: psycopg.Connection[Any], count: int) -> None:
    """Append as such a version did, and as this one does: under no lease."""
    ids = [uuid4() for _ in range(count)]
    leaves = [leaf_hash(each.bytes, 1, b"Scored", STATE) for each in ids]
    topics, states, runs = ["Scored"] * count, [STATE] * count, [None] * count
    connection.execute(
        "SELECT failproof.append(%b::uuid[], %b::bigint[], %b::text[], %b::bytea[], %b::uuid[], "
        "%b::bytea[])",
        (ids, [1] * count, topics, states, runs, leaves),
    )


@pytest.mark.parametrize("hostile", [False, True], ids=["", "with rows that are refused today"])
def test_a_signed_log_of_an_older_version_is_upgraded_and_gone_on_with(
    hostile: bool, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = [m for m in migration.migrations() if m.number <= UNCHECKED]
    with psycopg.connect(database_url, autocommit=True) as connection:
        with monkeypatch.context() as patched:
            patched.setattr(migration, "migrations", lambda: older)
            migration.migrate(connection)
        append_rows(connection, 300)
        key = sign_as_then(connection)
        append_rows(connection, 10)
        if hostile:
            connection.execute(
                "INSERT INTO failproof.events (originator_id, originator_version, topic, state) "
                "VALUES (%s, -1, 'Scored', '{}'), (%s, 1, repeat('T', 70000), '{}')",
                (uuid4(), uuid4()),
            )
        before = connection.execute(EVERY_BYTE).fetchall()
        assert schema_state(connection) is SchemaState.OUTDATED
        assert install(connection, logins=True).problems == []
        assert connection.execute(EVERY_BYTE).fetchall() == before
        assert differences(connection) == []
    engine = database_url.replace("//postgres@", f"//{WRITER}@")
    with Store.open(engine) as store, store.connect() as writer:
        append_rows(writer, 400)
        if not hostile:
            sign_checkpoint(writer, key, None)
            assert [each.tree_size for each in ledger.checkpoints(writer)] == [300, 710]
            result = verify_log(writer, key.public)
            assert (result.findings, result.signed_size) == ([], 710)
