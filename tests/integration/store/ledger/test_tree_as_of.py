"""The tree that an answer about the past rests on, as the auditor reads it."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID, uuid4

import psycopg
import pytest

from failproof_es.assurance.signing.integrator import sign_checkpoint
from failproof_es.assurance.tree_as_of import TreeAsOf, tree_as_of
from failproof_es.events import Scored
from failproof_es.ledger.merkle import Frontier
from failproof_es.ledger.note import SigningKey
from failproof_es.store import ledger
from failproof_es.store.schema.installation import AUDITOR, WRITER
from failproof_es.store.store import Store

RUN = uuid4()


def append(store: Store, first: int, last: int) -> None:
    """Append events first to last (exclusive), among them appends that fail and leave gaps."""
    for start in range(first, last, 100):
        numbers = range(start, min(start + 100, last))
        store.log.events.put([scored(number) for number in numbers])
        with pytest.raises(Exception, match="is at version"):
            store.log.events.put([scored(start)])


def scored(number: int) -> Scored:
    return Scored(
        originator_id=UUID(int=number + 1), originator_version=1, run_id=RUN, prompt_id=RUN,
        timestamp=datetime.now(UTC), model_key="m", repetition=1, scores={"accuracy": 1.0},
        passed=True,
        reason="", scorer="s", scorer_version="1",
    )  # fmt: skip


def root_of(leaves: list[bytes]) -> bytes:
    """The root by growing a tree in memory, without any tile."""
    tree = Frontier()
    tree.extend(leaves)
    return tree.root()


def test_the_auditor_reads_the_tree_of_every_position_and_none_beyond_its_edge(
    store: Store,
) -> None:
    append(store, 0, 600)
    with store.connect() as connection:
        sign_checkpoint(connection, SigningKey.generate(ledger.origin(connection)), None)
    append(store, 600, 601)
    auditor = store.url.replace(f"//{WRITER}@", f"//{AUDITOR}@")
    with psycopg.connect(auditor, autocommit=True) as connection:
        rows = list(ledger.leaf_rows(connection))
        leaves = [row.leaf_hash or b"" for row in rows]
        positions = [row.position for row in rows]
        for size in (1, 100, 101, 255, 256, 257, 512, 513, 600):
            expected = TreeAsOf(size, root_of(leaves[:size]))
            assert tree_as_of(connection, positions[size - 1]) == expected
            if size < 600:
                assert tree_as_of(connection, positions[size] - 1) == expected
        assert positions[100] > positions[99] + 1
        assert tree_as_of(connection, 0) == TreeAsOf(0, root_of([]))
        assert tree_as_of(connection, positions[600]) is None
