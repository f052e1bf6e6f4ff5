"""Puts committed events into the tree, and signs the tree.

Events are committed first and integrated afterwards, so that appending waits for no tree.
Each leaf is computed from the row and compared with the leaf that the event's writer computed:
an event that was changed in between stops the integrator.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import psycopg

from failproof_es.assurance.signing.kept_checkpoints import (
    check_continues,
    newest_signed,
    read_kept,
)
from failproof_es.assurance.tree import read_edge, stored_tree
from failproof_es.ledger import checkpoint as checkpoints
from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.ledger.edge import Edge, InvalidTree, Tile
from failproof_es.ledger.merkle import InvalidProof, consistency_proof, verify_consistency
from failproof_es.ledger.note import Note, NoteError, SigningKey
from failproof_es.store import ledger
from failproof_es.store.ledger import Connection, checked_leaf
from failproof_es.store.ledger import LedgerBroken as LedgerBroken

_BATCH = 50_000
"""Number of events integrated in one transaction."""


def integrate(connection: Connection) -> int:
    """Put every committed event into the tree; return the tree's size.

    Raises `LedgerBroken` at an event that is not what its writer recorded, and for a tree that
    cannot be continued.
    """
    while True:
        with connection.transaction():
            ledger.lock(connection)
            edge = _edge(connection)
            count, filled = _add_next_events(connection, edge)
            with _refusals():
                ledger.add_tiles(connection, filled)
        if count < _BATCH:
            return edge.size


def sign_checkpoint(connection: Connection, key: SigningKey, kept_in: str | None) -> Note:
    """Integrate committed events and sign the tree; a signed tree is not signed again.

    Before that, the same transaction compares the tree with the newest checkpoint in the database
    and with the one kept in the place `kept_in`. Raises `LedgerBroken` or `Forked` when the tree
    does not continue them, `NoteError` when the key is not this log's, and `InvalidInput` when the
    kept checkpoint cannot be used.
    """
    integrate(connection)
    with connection.transaction():
        ledger.lock(connection)
        # Read under the lock: to keep a later checkpoint, others would have to sign first.
        kept_checkpoint = None if kept_in is None else read_kept(kept_in, key.public)
        edge = _edge(connection)
        _, filled = _add_next_events(connection, edge)
        with _refusals():
            ledger.add_tiles(connection, [*filled, *edge.partial()])
        signed_before = _continued_checkpoint(connection, edge, key)
        new = Checkpoint(ledger.origin(connection), edge.size, edge.root())
        if kept_checkpoint is not None:
            check_continues(connection, kept_checkpoint, new)
        if signed_before is not None:
            return signed_before
        signed = new.signed(key)
        with _refusals():
            ledger.add_checkpoint(connection, edge.size, str(signed))
    return signed


def _edge(connection: Connection) -> Edge:
    try:
        return read_edge(connection)
    except InvalidTree as error:
        raise LedgerBroken(
            f"the tree cannot be continued: {error}. `failproof-es verify` says what is wrong "
            "with it"
        ) from None


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn the database's refusal of a leaf into `LedgerBroken`: it does not match the log."""
    try:
        yield
    except psycopg.DatabaseError as error:
        if error.sqlstate != ledger.REFUSED:
            raise
        raise LedgerBroken(
            f"{error.diag.message_primary}: `failproof-es verify` says what was changed"
        ) from None


def _add_next_events(connection: Connection, edge: Edge) -> tuple[int, list[Tile]]:
    """Add the next events to the edge; return how many, and the tiles that they filled."""
    filled: list[Tile] = []
    count = 0
    # A refused leaf must close the rows at once: the connection is busy until then.
    with closing(ledger.leaf_rows(connection, edge.last_position, limit=_BATCH)) as rows:
        for row in rows:
            leaf = checked_leaf(row)
            try:
                filled += edge.add(row.position, leaf)
            except InvalidTree as error:
                raise LedgerBroken(f"the log is not read in order: {error}") from None
            count += 1
    return count, filled


def _continued_checkpoint(connection: Connection, edge: Edge, key: SigningKey) -> Note | None:
    """Check that the tree continues the newest checkpoint; return it if the tree did not grow."""
    try:
        signed = newest_signed(connection, key.public)
    except NoteError as error:
        raise LedgerBroken(
            f"the newest checkpoint in the database is not of this key: {error}"
        ) from None
    if signed is None:
        return None
    newest = checkpoints.opened(signed, key.public)
    try:
        # The proof leads from the stored tiles to the root to be signed, so that it detects a tile
        # that was changed on one level only.
        proof: list[bytes] = []
        if 0 < newest.size < edge.size:
            proof = consistency_proof(stored_tree(connection).subtree, newest.size, edge.size)
        verify_consistency(newest.size, newest.root, edge.size, edge.root(), proof)
    except (InvalidProof, KeyError):
        raise LedgerBroken(
            f"the tree of {edge.size} events does not continue the checkpoint of {newest.size}"
        ) from None
    return signed if newest.size == edge.size else None
