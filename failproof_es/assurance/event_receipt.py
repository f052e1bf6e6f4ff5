"""Proofs of single events in the formats of the field, from the tree of the log."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from uuid import UUID

from failproof_es.assurance.event_proof import leaf_index
from failproof_es.assurance.run_evidence import RowEvent, checkpoint_as_of, readable_tree
from failproof_es.assurance.tree import stored_tree
from failproof_es.ledger import checkpoint
from failproof_es.ledger.contents import EvidenceError, Missing, NotProvenYet
from failproof_es.ledger.cose_receipt import receipt
from failproof_es.ledger.event_line import canonical, event_document, parse_event
from failproof_es.ledger.leaf import NoLeaf
from failproof_es.ledger.merkle import inclusion_proof, verify_inclusion
from failproof_es.ledger.note import PublicKey, SigningKey
from failproof_es.ledger.tlog_proof import TlogProof
from failproof_es.problems import InvalidInput
from failproof_es.store import ledger
from failproof_es.store.ledger import Connection, LeafRow


def prove_in_tree(
    connection: Connection,
    run_id: UUID,
    position: int | None,
    size: int | None,
    key: PublicKey | None,
) -> TlogProof:
    """The proof of the run's event at the position, or of its newest seal.

    It is as of the checkpoint that `run_evidence.evidence_lines` would take, and raises as that.
    """
    row = _seal(connection, run_id) if position is None else _event(connection, run_id, position)
    try:
        leaf = row.leaf()
    except NoLeaf as why:
        raise EvidenceError(f"the row of the event at {row} is not an event: {why}") from None
    signed, size = checkpoint_as_of(connection, size, key)
    of_tree = checkpoint.parse(signed.text)
    with readable_tree(size):
        index = leaf_index(connection, row.position, leaf)
        if index is None or index >= size:
            raise NotProvenYet(
                Missing.CHECKPOINT, f"the event is behind the checkpoint of {size} events"
            )
        path = inclusion_proof(stored_tree(connection).subtree, index, size)
        verify_inclusion(leaf, index, size, path, of_tree.root)
    line = canonical(event_document(RowEvent(row, index)))
    return TlogProof(line.removesuffix(b"\n"), index, tuple(path), signed)


def _seal(connection: Connection, run_id: UUID) -> LeafRow:
    last = None
    for row in _closed(ledger.stream_rows(connection, [run_id])):
        if row.topic == b"RunSealed":
            last = row
    if last is None:
        raise NotProvenYet(Missing.SEAL, "the log has no seal of the run")
    return last


def _event(connection: Connection, run_id: UUID, position: int) -> LeafRow:
    for row in _closed(ledger.rows_at(connection, [position])):
        if run_id.bytes in (row.run_id, row.stream_id):
            return row
    raise InvalidInput.because(
        "unknown-event",
        f"the run has no event at {position}",
        remedy="the audit trail says the positions: `failproof-es audit RUN`",
    )


def _closed(rows: Generator[LeafRow]) -> list[LeafRow]:
    with closing(rows):
        return list(rows)


def cose_receipt(proof: TlogProof, key: SigningKey) -> bytes:
    """The COSE receipt of what the proof proves, signed by the log's key."""
    of_tree = checkpoint.parse(proof.signed.text)
    event = parse_event(proof.extra, 1)
    subject = f"{event.stream_id}/{event.version}"
    tree = of_tree.size, of_tree.root
    return receipt(key, proof.extra, subject, proof.index, proof.path, tree)
