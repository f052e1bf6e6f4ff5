"""Proofs of single events (C2SP tlog-proof): written, read, verified, refused."""

from __future__ import annotations

import hashlib
from uuid import UUID

import pytest

from failproof_es.ledger import tlog_proof
from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.ledger.contents import EvidenceError
from failproof_es.ledger.event_line import ProvenEvent, canonical, event_document
from failproof_es.ledger.note import COSIGNATURE, SigningKey
from failproof_es.ledger.tlog_policy import Policy
from failproof_es.ledger.tlog_proof import ProofError, TlogProof
from tests.every import every
from tests.unit.ledger import naive

LOG = SigningKey.generate("log.example")
WITNESS = SigningKey.generate("witness.example", COSIGNATURE)
EVENTS = [ProvenEvent(n, UUID(int=n), 1, "Scored", f'{{"n":{n}}}'.encode()) for n in range(11)]


def entry(event: ProvenEvent) -> bytes:
    """What the leaf hash is of, after the byte 0x00 of RFC 6962."""
    topic = event.topic.encode()
    return b"".join((
        b"failproof-es/event/1\n", event.stream_id.bytes, event.version.to_bytes(8, "big"),
        len(topic).to_bytes(2, "big"), topic, len(event.state).to_bytes(8, "big"),
        hashlib.sha256(event.state).digest(),
    ))  # fmt: skip


def proof_of(index: int) -> TlogProof:
    """The proof of one of the events in a tree of all, cosigned."""
    entries = list(map(entry, EVENTS))
    note = Checkpoint(LOG.name, len(entries), naive.root(entries)).signed(LOG)
    note = note.signed(WITNESS.sign(note.text, at=5))
    extra = canonical(event_document(EVENTS[index])).removesuffix(b"\n")
    return TlogProof(extra, index, tuple(naive.inclusion_path(index, entries)), note)


POLICY = Policy.of(LOG.public, [WITNESS.public])


def test_every_event_is_proven_and_read_to_the_byte() -> None:
    for index, event in enumerate(EVENTS):
        proof = proof_of(index)
        assert tlog_proof.read(str(proof).encode()) == proof
        proven = tlog_proof.verify(proof, POLICY)
        assert proven.event == event
        assert proven.cosigned == {"witness.example": 5}


def test_it_has_the_lines_of_the_specification() -> None:
    lines = str(proof_of(4)).split("\n")
    assert lines[0] == "c2sp.org/tlog-proof@v1"
    assert lines[1].startswith("extra ") and lines[2] == "index 4"
    blank = lines.index("")
    assert len(lines[3:blank]) == 4
    assert lines[blank + 1 : blank + 3] == ["log.example", "11"]


def test_every_flipped_bit_is_refused() -> None:
    document = str(proof_of(9)).encode()
    for at in range(len(document)):
        for bit in (1, 32):
            flipped = document[:at] + bytes([document[at] ^ bit]) + document[at + 1 :]
            with pytest.raises((ProofError, EvidenceError)):
                tlog_proof.verify(tlog_proof.read(flipped), POLICY)


def test_every_line_that_is_left_out_or_doubled_is_refused() -> None:
    lines = str(proof_of(9)).splitlines(keepends=True)
    for at, line in enumerate(lines):
        doubled = lines[: at + 1] + lines[at:]
        for changed in (lines[:at] + lines[at + 1 :], doubled):
            if changed is doubled and line.startswith("— "):
                continue  # a signature says the same twice
            with pytest.raises((ProofError, EvidenceError)):
                tlog_proof.verify(tlog_proof.read("".join(changed).encode()), POLICY)


@every("index", ["09", "-1", "+9", "9 ", "９", str(1 << 63), "", "10"])
def test_another_index_is_refused(index: str) -> None:
    document = str(proof_of(9)).replace("index 9\n", f"index {index}\n")
    with pytest.raises((ProofError, EvidenceError)):
        tlog_proof.verify(tlog_proof.read(document.encode()), POLICY)


def test_a_proof_without_its_event_proves_nothing_here() -> None:
    document = str(proof_of(2)).split("\n")
    del document[1]
    proof = tlog_proof.read("\n".join(document).encode())
    assert proof.extra == b"" and proof.index == 2
    with pytest.raises(ProofError, match="does not hold the event"):
        tlog_proof.verify(proof, POLICY)
