"""Proves one event: that its row is a leaf of the tree that a checkpoint signs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from failproof_es.assurance.signing.signing_key import own_public_key
from failproof_es.assurance.tree import stored_tree
from failproof_es.ledger import checkpoint, note
from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.ledger.leaf import NoLeaf, leaf_hash
from failproof_es.ledger.merkle import (
    HASH_BYTES,
    TILE_WIDTH,
    InvalidProof,
    inclusion_proof,
    verify_inclusion,
)
from failproof_es.ledger.note import Note, NoteError
from failproof_es.ledger.time_stamp import time_stamps
from failproof_es.problems import InvalidInput
from failproof_es.store import ledger
from failproof_es.store.ledger import Connection, LedgerBroken


@dataclass(frozen=True, slots=True, kw_only=True)
class EventProof:
    """The proof that an event is in the tree of the newest checkpoint. Hashes are hexadecimal."""

    holds: bool | None
    """`None` where nothing can be proven yet, which is no sign of a change."""
    signature_checked: bool
    """Whether the checkpoint's signature was checked with the log's public key."""
    says: str
    """The result in one sentence."""
    leaf: str | None
    """Leaf hash of the row; for an archived event, the leaf hash that was kept."""
    index: int | None = None
    """Index of the leaf in the tree, from 0."""
    tree_size: int | None = None
    """Size of the checkpoint's tree, whose root is `root`."""
    root: str | None = None
    path: tuple[str, ...] = ()
    """The inclusion proof (RFC 9162 § 2.1.3), from the leaf up."""
    checkpoint: str | None = None
    """The signed note."""
    cosigners: tuple[str, ...] = ()
    """Names in the checkpoint's other signatures, which were not checked."""


def prove_event(
    connection: Connection,
    position: int,
    stream_id: UUID,
    version: int,
    topic: str,
    state: bytes,
) -> EventProof:
    """Inclusion proof of a row of the log. Reads a few tiles, however long the log is."""
    try:
        leaf = leaf_hash(stream_id.bytes, version, topic.encode(), state)
    except (NoLeaf, UnicodeEncodeError) as why:
        return EventProof(
            holds=False, signature_checked=False, leaf=None, says=f"The row is no event: {why}."
        )
    return prove_leaf(connection, position, leaf)


def prove_leaf(connection: Connection, position: int, leaf: bytes) -> EventProof:
    """Inclusion proof of an archived event, of which only the leaf hash is known."""
    try:
        return _proof(connection, position, leaf)
    except KeyError:
        why = "tiles are gone"
    except (InvalidProof, LedgerBroken) as error:
        why = str(error)
    return EventProof(
        holds=False, signature_checked=False, leaf=leaf.hex(), says=f"Not proven: {why}."
    )


def leaf_index(connection: Connection, position: int, leaf: bytes) -> int | None:
    """The index of the leaf of the event at a position; `None` if the tree does not hold it yet.

    Raises `LedgerBroken` if the tree holds another hash there, or none.
    """
    tile = ledger.tile_of(connection, position)
    places: Sequence[int] = () if tile is None else tile.positions or ()
    if tile is None or position > places[-1]:
        return None
    at = bisect_left(places, position)
    if places[at] != position:
        raise LedgerBroken("the event is in the log and not in the tree")
    if tile.hashes[at * HASH_BYTES : (at + 1) * HASH_BYTES] != leaf:
        raise LedgerBroken("the tree holds another hash: the event is not what was recorded")
    return tile.tile * TILE_WIDTH + at


def _proof(connection: Connection, position: int, leaf: bytes) -> EventProof:
    index = leaf_index(connection, position, leaf)
    if index is None:
        return _not_yet(leaf, None, "The event is not in the tree yet")
    newest = _newest_checkpoint(connection)
    if newest is None:
        return _not_yet(leaf, index, "The event is in the tree, and nobody signed that yet")
    signed, of_tree, checked = newest
    if index >= of_tree.size:
        return _not_yet(leaf, index, "The event is in the tree, behind its newest checkpoint")
    path = inclusion_proof(stored_tree(connection).subtree, index, of_tree.size)
    verify_inclusion(leaf, index, of_tree.size, path, of_tree.root)
    by = "signed by the log's key" if checked else "whose signature could not be checked here"
    return EventProof(
        holds=True,
        signature_checked=checked,
        says=f"The event is leaf {index:,} of the tree of {of_tree.size:,} events, {by}.",
        leaf=leaf.hex(),
        index=index,
        tree_size=of_tree.size,
        root=of_tree.root.hex(),
        path=tuple(digest.hex() for digest in path),
        checkpoint=str(signed),
        cosigners=cosigners(signed, of_tree.origin),
    )


def cosigners(signed: Note, origin: str) -> tuple[str, ...]:
    """Names in a checkpoint's signatures other than the log's. None of them is checked.

    A time stamp is no signature.
    """
    stamps = time_stamps(signed)
    return tuple(
        dict.fromkeys(
            signature.name
            for signature in signed.signatures
            if signature.name != origin and signature not in stamps
        )
    )


def _not_yet(leaf: bytes, index: int | None, what: str) -> EventProof:
    return EventProof(
        holds=None,
        signature_checked=False,
        says=f"{what}. `failproof-es ledger checkpoint` signs it.",
        leaf=leaf.hex(),
        index=index,
    )


def _newest_checkpoint(connection: Connection) -> tuple[Note, Checkpoint, bool] | None:
    """The newest checkpoint that the log's key signed; without the key, the newest valid one.

    Returns its note, its content and whether the signature was checked; `None` without any
    checkpoint. Raises `LedgerBroken` if none of the checkpoints counts.
    """
    origin = ledger.origin(connection)
    try:
        key = own_public_key(origin)
    except InvalidInput:
        key = None
    refused: NoteError | None = None
    for stored in ledger.newest_checkpoints(connection):
        try:
            signed = note.parse(stored.note)
            if key is not None:
                return signed, checkpoint.opened(signed, key), True
            candidate = checkpoint.parse(signed.text)
            if candidate.origin != origin:
                raise NoteError(f"it is of {candidate.origin}")
        except NoteError as error:
            refused = refused or error
        else:
            return signed, candidate, False
    if refused is not None:
        raise LedgerBroken(f"no checkpoint is signed by the log's key: {refused}")
    return None
