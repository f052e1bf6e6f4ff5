"""Witness cosigning: the request that a log sends to a witness, and when the witness signs.

The request has the form of C2SP tlog-witness: the size of the tree that the witness saw last, the
proof that the new tree continues it, an empty line, and the log's checkpoint. A checkpoint alone is
a request to a witness that saw nothing yet.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass

from failproof_es.ledger import checkpoint, note
from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.ledger.merkle import InvalidProof, verify_consistency
from failproof_es.ledger.note import Note, NoteError, PublicKey, SigningKey
from failproof_es.problems import InvalidInput

_OLD = "old "


@dataclass(frozen=True, slots=True)
class CosignRequest:
    """A checkpoint to be cosigned, with the proof that it continues the one of size `old`."""

    old: int
    proof: tuple[bytes, ...]
    signed: Note

    def __str__(self) -> str:
        hashes = "".join(f"{base64.b64encode(digest).decode('ascii')}\n" for digest in self.proof)
        return f"{_OLD}{self.old}\n{hashes}\n{self.signed}"


def parse_request(data: bytes) -> CosignRequest:
    """The request, or the bare checkpoint, in a file's bytes. Raises `InvalidInput`."""
    try:
        text = data.decode()
        if not text.startswith(_OLD):
            return CosignRequest(0, (), note.parse(text))
        head, _, rest = text.partition("\n\n")
        old, *hashes = head.split("\n")
        proof = tuple(base64.b64decode(encoded_hash, validate=True) for encoded_hash in hashes)
        return CosignRequest(int(old.removeprefix(_OLD)), proof, note.parse(rest))
    except (NoteError, ValueError) as error:
        raise InvalidInput.because(
            "not-a-checkpoint",
            f"not a checkpoint that can be cosigned: {error}",
            remedy="use the output of `ledger checkpoint --since SIZE`",
        ) from None


def cosign_request(
    request: CosignRequest, log: PublicKey, own: SigningKey, seen: Checkpoint | None, at: int
) -> Note:
    """The checkpoint with `own`'s cosignature, made at `at` (seconds since 1970).

    The checkpoint `seen` last can be cosigned again. Raises `InvalidInput` unless the log signed
    the new one and it continues `seen`.
    """
    try:
        new = checkpoint.opened(request.signed, log)
        if seen is not None:
            _check_continues(request, seen, new)
    except (NoteError, InvalidProof) as error:
        raise InvalidInput.because(
            "log-changed",
            f"not cosigned: {error}",
            remedy="unless the file was damaged on its way, the log's history was changed",
        ) from None
    return request.signed.signed(own.sign(request.signed.text, at=at))


def _check_continues(request: CosignRequest, seen: Checkpoint, new: Checkpoint) -> None:
    if seen.size > new.size:
        raise InvalidInput.because(
            "checkpoint-outdated",
            f"the checkpoint has {new.size} events, but you cosigned {seen.size} already",
            remedy="it is an older checkpoint, or the log's tail was cut",
        )
    # If the sizes are equal, the roots are compared, and the request's proof is not needed.
    proof = () if seen.size == new.size else request.proof
    if seen.size not in (request.old, new.size):
        raise InvalidInput.because(
            "checkpoint-gap",
            f"you last cosigned {seen.size} events, but the proof begins at {request.old}",
            remedy=f"ask for `ledger checkpoint --since {seen.size}`",
        )
    verify_consistency(seen.size, seen.root, new.size, new.root, proof)
