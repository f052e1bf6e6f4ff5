"""Reads the roots that the tree must have, from checkpoints in the database and outside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from failproof_es.assurance.checking.findings import (
    HISTORY_FORKED,
    SIGNATURE,
    Verification,
    VerificationFinding,
)
from failproof_es.ledger import checkpoint as checkpoints
from failproof_es.ledger import note
from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.ledger.note import NoteError, PublicKey
from failproof_es.store import ledger
from failproof_es.store.ledger import Connection, StoredCheckpoint
from failproof_es.support.untrusted_text import shortened


@dataclass(frozen=True, slots=True)
class ExpectedRoot:
    """A root that the tree must have at a size, and which checkpoint signs it."""

    size: int
    root: bytes
    outside: bool
    source: str
    removed: bool = False
    """Whether it is kept outside and no longer in the database."""


def read_expected_roots(
    connection: Connection,
    key: PublicKey | None,
    trusted: Sequence[Checkpoint],
    result: Verification,
) -> list[ExpectedRoot]:
    """The roots that the tree must have, from every checkpoint that counts.

    Checkpoints that do not count become findings.
    """
    expected = []
    for stored in ledger.checkpoints(connection):
        result.checkpoints += 1
        if (checkpoint := _open_checkpoint(stored, key, result)) is not None:
            source = f"the checkpoint in the database (size {checkpoint.size})"
            expected.append(ExpectedRoot(checkpoint.size, checkpoint.root, False, source))
            if key is not None:
                result.good_signatures += 1
                result.signed_size = max(result.signed_size, checkpoint.size)
    inside = {expected_root.size for expected_root in expected}
    for anchor in trusted:
        if anchor.origin == result.origin:
            source = f"the checkpoint kept outside (size {anchor.size})"
            removed = anchor.size not in inside
            expected.append(ExpectedRoot(anchor.size, anchor.root, True, source, removed))
        else:
            result.add(
                VerificationFinding(
                    HISTORY_FORKED,
                    f"the checkpoint kept outside is of {anchor.origin}, this log says it is "
                    f"{result.origin}: another database, or a new one",
                )
            )
    return expected


def _open_checkpoint(
    stored: StoredCheckpoint, key: PublicKey | None, result: Verification
) -> Checkpoint | None:
    try:
        signed = note.parse(stored.note)
        checkpoint = (
            checkpoints.parse(signed.text) if key is None else checkpoints.opened(signed, key)
        )
        if checkpoint.size != stored.tree_size:
            raise NoteError(f"it signs {checkpoint.size} events")
        if checkpoint.origin != result.origin:
            raise NoteError(f"it is of another log, {shortened(checkpoint.origin, 80)}")
    except NoteError as error:
        result.add(
            VerificationFinding(
                SIGNATURE, f"the checkpoint of size {stored.tree_size} is not good: {error}"
            )
        )
        return None
    return checkpoint
