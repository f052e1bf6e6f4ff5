"""The protection status of a run: sealed, signed, anchored outside."""

from __future__ import annotations

from dataclasses import dataclass

from failproof_es.assurance.signing.kept_checkpoints import default_place, read_kept
from failproof_es.assurance.signing.signing_key import own_public_key
from failproof_es.ledger.merkle import TILE_WIDTH
from failproof_es.store import ledger
from failproof_es.store.ledger import Connection
from failproof_es.store.schema.protection_layers import missing_layers


@dataclass(frozen=True, slots=True)
class ProtectionStatus:
    """How far the log of a run is signed and anchored by checkpoints.

    Nothing in the log was verified for this: `failproof-es verify` does that.
    """

    sealed: bool
    signed: int
    """Events of the log under the newest checkpoint in the database."""
    anchored_outside: int
    """Events of the log under the checkpoint that this user keeps outside the database."""
    not_anchored: int
    """Events of the log behind that checkpoint."""
    missing_layers: tuple[str, ...]
    """What the database does not enforce: `failproof-es db status` says more."""


def protection_status(connection: Connection, *, sealed: bool) -> ProtectionStatus:
    """How a run's log stands now. Raises `InvalidInput` for a bad key file."""
    origin = ledger.origin(connection)
    newest = ledger.newest_checkpoint(connection)
    public = own_public_key(origin)
    kept = None if public is None else read_kept(str(default_place(origin)), public)
    anchored, tail = 0, _events(connection)
    if kept is not None:
        anchored, tail = kept.size, max(0, tail - kept.size)
    signed = newest.tree_size if newest else 0
    missing = tuple(layer.name for layer in missing_layers(connection))
    return ProtectionStatus(sealed, signed, anchored, tail, missing)


def _events(connection: Connection) -> int:
    """How many events the log has: those in the tree, and those behind it.

    If the tree cannot be read, all rows are counted.
    """
    try:
        last = ledger.last_tile(connection)
    except ledger.LedgerBroken:
        last = None
    if last is None or not last.positions:
        return ledger.count_events(connection)
    size = last.tile * TILE_WIDTH + last.width
    return size + ledger.count_events(connection, after=last.positions[-1])
