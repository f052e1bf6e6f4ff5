"""Puts committed events into the tree, and signs the tree.

Events are committed first and integrated afterwards, so that appending waits for no tree.
Each leaf is computed from the row as it stands and compared with what the event's writer
computed: an event that was changed in between stops the integrator.
"""

from __future__ import annotations

from contextlib import closing

from failproof_es.assurance.tree import Edge, read_edge, stored_tree
from failproof_es.ledger import checkpoint as checkpoints
from failproof_es.ledger import note
from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.ledger.merkle import InvalidProof, consistency_proof, verify_consistency
from failproof_es.ledger.note import Note, NoteError, SigningKey
from failproof_es.store import ledger
from failproof_es.store.ledger import Connection, Tile, checked_leaf
from failproof_es.store.ledger import LedgerBroken as LedgerBroken

_BATCH = 50_000
"""How many events are integrated in one transaction."""


def integrate(connection: Connection) -> int:
    """Put every committed event into the tree; return the tree's size.

    Raises `LedgerBroken` at an event that is not what its writer recorded.
    """
    while True:
        with connection.transaction():
            ledger.lock(connection)
            edge = read_edge(connection)
            taken, filled = _take(connection, edge)
            ledger.add_tiles(connection, filled)
        if taken < _BATCH:
            return edge.size


def sign_checkpoint(connection: Connection, key: SigningKey) -> Note:
    """Integrate what is committed and sign the tree; a tree that is signed is not signed again.

    Raises `LedgerBroken` when the tree does not continue the newest checkpoint, and
    `NoteError` when the key is not this log's.
    """
    integrate(connection)
    with connection.transaction():
        ledger.lock(connection)
        edge = read_edge(connection)
        _, filled = _take(connection, edge)
        ledger.add_tiles(connection, [*filled, *edge.partial()])
        signed_before = _continued(connection, edge, key)
        if signed_before is not None:
            return signed_before
        signed = Checkpoint(ledger.origin(connection), edge.size, edge.root()).signed(key)
        ledger.add_checkpoint(connection, edge.size, str(signed))
    return signed


def _take(connection: Connection, edge: Edge) -> tuple[int, list[Tile]]:
    """Add the next events to the edge; return how many, and the tiles that they filled."""
    filled: list[Tile] = []
    taken = 0
    # Closed at once when a leaf is refused: the connection is busy until the rows are.
    with closing(ledger.leaf_rows(connection, edge.last_position, limit=_BATCH)) as rows:
        for row in rows:
            filled += edge.add(row.position, checked_leaf(row))
            taken += 1
    return taken, filled


def _continued(connection: Connection, edge: Edge, key: SigningKey) -> Note | None:
    """Check that the tree continues the newest checkpoint; that one, if nothing was added."""
    stored = ledger.newest_checkpoint(connection)
    if stored is None:
        return None
    try:
        signed = note.parse(stored.note)
        newest = checkpoints.opened(signed, key.public)
    except NoteError as error:
        raise LedgerBroken(
            f"the newest checkpoint in the database (size {stored.tree_size}) is not of this "
            f"key: {error}"
        ) from None
    try:
        # Proven from the tiles to the root that would be signed: a tile that was changed on
        # one level only shows, too.
        proof: list[bytes] = []
        if 0 < newest.size < edge.size:
            proof = consistency_proof(stored_tree(connection).subtree, newest.size, edge.size)
        verify_consistency(newest.size, newest.root, edge.size, edge.root(), proof)
    except (InvalidProof, KeyError):
        raise LedgerBroken(
            f"the tree of {edge.size} events does not continue the checkpoint of {newest.size}: "
            "`failproof-es verify` says what was changed"
        ) from None
    return signed if newest.size == edge.size else None
