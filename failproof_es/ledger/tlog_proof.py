"""Proofs that an event is in the log (C2SP tlog-proof): one text that is verified offline.

    c2sp.org/tlog-proof@v1
    extra <base64>
    index <index of the leaf>
    <base64 of a hash>             the inclusion proof, from the leaf up
    <empty line>
    <signed checkpoint>

The extra data is the event, as its line in an evidence file has it: the leaf hash is computed from
it, so that it is proven with the rest.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass

from failproof_es.ledger import note
from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.ledger.errors import NotSigned
from failproof_es.ledger.event_line import ProvenEvent, parse_event
from failproof_es.ledger.merkle import HASH_BYTES, InvalidProof, verify_inclusion
from failproof_es.ledger.note import Note, NoteError
from failproof_es.ledger.tlog_policy import Policy

FIRST_LINE = "c2sp.org/tlog-proof@v1"
MOST_BYTES = 256 << 20
"""Of a proof: an event can hold texts of many megabytes."""
_EXTRA = "extra "
_INDEX = "index "
_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")
_MOST_HASHES = 63


class ProofError(NotSigned):
    """The text is no proof of this form."""


@dataclass(frozen=True, slots=True)
class TlogProof:
    """A proof that was parsed but not verified."""

    extra: bytes
    """The event; empty where there is none."""
    index: int
    path: tuple[bytes, ...]
    signed: Note

    def __str__(self) -> str:
        extra = f"{_EXTRA}{_encode(self.extra)}\n" if self.extra else ""
        path = "".join(f"{_encode(digest)}\n" for digest in self.path)
        return f"{FIRST_LINE}\n{extra}{_INDEX}{self.index}\n{path}\n{self.signed}"


@dataclass(frozen=True, slots=True)
class ProvenByLog:
    """The event of a verified proof, and who vouches for it."""

    event: ProvenEvent
    checkpoint: Checkpoint
    cosigned: dict[str, int | None]
    """The time of each cosigner's signature, in seconds since 1970, by its name."""


def read(content: bytes) -> TlogProof:
    """Parse a file. Raises `ProofError`."""
    if len(content) > MOST_BYTES:
        raise ProofError(f"a proof has at most {MOST_BYTES:,} bytes")
    try:
        return parse(content.decode())
    except UnicodeDecodeError:
        raise ProofError("the file is not text") from None


def verify(proof: TlogProof, policy: Policy) -> ProvenByLog:
    """Verify that the event in the proof is in a log of the policy.

    Raises `ProofError` or `EvidenceError` with the first reason.
    """
    try:
        of_tree, cosigned = policy.open(proof.signed)
    except NotSigned as error:
        raise ProofError(f"checkpoint: {error}") from None
    if not proof.extra:
        raise ProofError("the proof does not hold the event")
    event = parse_event(proof.extra, 1)
    if event.index != proof.index:
        raise ProofError("the event says another index than the proof")
    try:
        verify_inclusion(event.leaf_hash(), proof.index, of_tree.size, proof.path, of_tree.root)
    except InvalidProof as error:
        raise ProofError(str(error)) from None
    return ProvenByLog(event, of_tree, cosigned)


def parse(text: str) -> TlogProof:
    """Parse a proof in its one canonical form. Raises `ProofError`."""
    head, separator, signed = text.partition("\n\n")
    if head.count("\n") > _MOST_HASHES + 3:
        raise ProofError(f"there are more than {_MOST_HASHES} hashes")
    first, *lines = head.split("\n")
    if first != FIRST_LINE or not separator:
        raise ProofError(f"the first line is not {FIRST_LINE}, or no checkpoint follows")
    extra = b""
    if lines and lines[0].startswith(_EXTRA):
        extra = _decode(lines.pop(0).removeprefix(_EXTRA))
    index = lines.pop(0).removeprefix(_INDEX) if lines else ""
    if not _NUMBER.fullmatch(index):
        raise ProofError("no line says the index of the leaf")
    path = tuple(map(_decode, lines))
    if len(path) > _MOST_HASHES or any(len(digest) != HASH_BYTES for digest in path):
        raise ProofError(f"a line is no hash of {HASH_BYTES} bytes, or there are too many")
    try:
        proof = TlogProof(extra, int(index), path, note.parse(signed))
    except NoteError as error:
        raise ProofError(f"checkpoint: {error}") from None
    if str(proof) != text:
        raise ProofError("the proof is not written in its one canonical form")
    return proof


def _encode(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        raise ProofError("base64 is damaged") from None
