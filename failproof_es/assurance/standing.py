"""How well a run is protected so far: which attempt it was, sealed, signed, anchored outside."""

from __future__ import annotations

from dataclasses import dataclass

from failproof_es.assurance.signing_key import own_public_key
from failproof_es.assurance.trusted import default_place, read_kept
from failproof_es.store import ledger
from failproof_es.store.layers import missing_layers
from failproof_es.store.ledger import Connection
from failproof_es.store.recorder import query


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a run stands among its attempts, and the log under its checkpoints.

    Nothing in the log was verified for this: `failproof-es verify` does that.
    """

    attempt: int | None
    attempts: int
    """How many runs of the same configuration there are by now, aborted ones included."""
    sealed: bool
    signed: int
    """Events of the log under the newest checkpoint in the database."""
    anchored_outside: int
    """Events of the log under the checkpoint that this user keeps."""
    not_anchored: int
    """Events of the log behind that."""
    missing_layers: tuple[str, ...]
    """What the database does not enforce: `failproof-es db status` says more."""


def standing(
    connection: Connection, attempt: int | None, configuration_digest: str, *, sealed: bool
) -> Standing:
    """How a run of that configuration stands now. Raises `InvalidInput` for a bad key file."""
    attempts = connection.execute(query("attempts"), (configuration_digest,)).fetchall()
    origin = ledger.origin(connection)
    newest = ledger.newest_checkpoint(connection)
    public = own_public_key(origin)
    kept = None if public is None else read_kept(str(default_place(origin)), public)
    anchored, tail = 0, ledger.count_events(connection)
    if kept is not None:
        anchored, tail = kept.size, max(0, tail - kept.size)
    signed = newest.tree_size if newest else 0
    missing = tuple(layer.name for layer in missing_layers(connection))
    return Standing(attempt, len(attempts), sealed, signed, anchored, tail, missing)
