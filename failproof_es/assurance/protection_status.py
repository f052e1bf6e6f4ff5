"""The protection status of a run: sealed, signed, anchored outside."""

from __future__ import annotations

from dataclasses import dataclass

from failproof_es.assurance.signing.kept_checkpoints import default_place, read_kept
from failproof_es.assurance.signing.signing_key import own_public_key
from failproof_es.ledger.merkle import TILE_WIDTH
from failproof_es.store import ledger
from failproof_es.store.ledger import Connection, EventsBehind
from failproof_es.store.schema.protection_layers import missing_layers


@dataclass(frozen=True, slots=True)
class ProtectionStatus:
    """Numbers of the log's events that are signed and anchored by checkpoints.

    Nothing in the log was verified for this: `failproof-es verify` does that.
    """

    sealed: bool
    signed: int
    """Events of the log under the newest checkpoint in the database."""
    anchored_outside: int
    """Events of the log under the checkpoint that this user keeps outside the database."""
    not_anchored: int
    """Events of the log behind that checkpoint; at most so many where they are not counted."""
    missing_layers: tuple[str, ...]
    """Guarantees that the database does not enforce: `failproof-es db status` says more."""
    counted: bool
    """Whether `not_anchored` was counted. Behind the tree are too many events for that else."""


def protection_status(connection: Connection, *, sealed: bool) -> ProtectionStatus:
    """Protection status of a run's log now. Raises `InvalidInput` for a bad key file."""
    origin = ledger.origin(connection)
    newest = ledger.newest_checkpoint(connection)
    public = own_public_key(origin)
    kept_checkpoint = None if public is None else read_kept(str(default_place(origin)), public)
    events = _events(connection)
    anchored = 0 if kept_checkpoint is None else kept_checkpoint.size
    tail = max(0, events.events - anchored)
    signed = newest.tree_size if newest else 0
    missing = tuple(layer.name for layer in missing_layers(connection))
    return ProtectionStatus(sealed, signed, anchored, tail, missing, events.exact)


def unsigned_events(connection: Connection) -> int:
    """Events of the log behind its newest checkpoint; at most so many where they are not counted.

    Signatures are not checked.
    """
    newest = ledger.newest_checkpoint(connection)
    return max(0, _events(connection).events - (newest.tree_size if newest else 0))


def _events(connection: Connection) -> EventsBehind:
    """Number of events in the log: those in the tree, and those behind it.

    If the tree cannot be read, all events are counted as behind it.
    """
    try:
        last = ledger.last_tile(connection)
    except ledger.LedgerBroken:
        last = None
    if last is None or not last.positions:
        return ledger.events_behind(connection)
    behind = ledger.events_behind(connection, last.positions[-1])
    return EventsBehind(last.tile * TILE_WIDTH + last.width + behind.events, behind.exact)
