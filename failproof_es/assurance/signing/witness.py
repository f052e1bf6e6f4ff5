"""Witness cosigning: the request that a log sends to a witness, and when the witness signs.

The request has the form of C2SP tlog-witness: the size of the tree that the witness saw last, the
proof that the new tree continues it, an empty line, and the log's checkpoint. A checkpoint alone is
a request to a witness that saw nothing yet.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from failproof_es.assurance.signing.kept_checkpoints import locked_place
from failproof_es.ledger import checkpoint, note
from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.ledger.merkle import HASH_BYTES, InvalidProof, verify_consistency
from failproof_es.ledger.note import Note, NoteError, PublicKey, SigningKey
from failproof_es.problems import InvalidInput

MOST_BYTES = 1 << 20
"""Of a request, or of a reply. A checkpoint that the log records has at most half of it."""
_OLD = "old "
_SIZE = re.compile(r"0|[1-9][0-9]{0,18}")
_MOST_HASHES = 63
_TEXT = "text/plain; charset=utf-8"


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
        if not _SIZE.fullmatch(old.removeprefix(_OLD)) or len(proof) > _MOST_HASHES:
            raise ValueError("the old size is no number, or the proof is too long")
        if any(len(digest) != HASH_BYTES for digest in proof):
            raise ValueError(f"a hash of the proof is not {HASH_BYTES} bytes long")
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


class WitnessReply(NamedTuple):
    """The reply of a witness over HTTP (C2SP tlog-witness)."""

    status: int
    content: str
    media_type: str = _TEXT


@dataclass(frozen=True, slots=True)
class Witness:
    """Cosigns the checkpoints of some logs, and keeps the last one of each in a folder."""

    own: SigningKey
    logs: Mapping[str, PublicKey]
    """By their origins."""
    folder: Path

    def add_checkpoint(self, content: bytes, at: int) -> WitnessReply:
        """The reply to a request `add-checkpoint`, made at `at` (seconds since 1970).

        The checkpoint is kept before its cosignature is returned. Raises `InvalidInput` if the
        folder cannot be used.
        """
        try:
            if not content.startswith(_OLD.encode()):
                raise InvalidInput.because("not-a-checkpoint", "the first line is no old size")
            request = parse_request(content)
        except InvalidInput as error:
            return WitnessReply(400, f"{error}\n")
        log = self.logs.get(request.signed.text.partition("\n")[0])
        if log is None:
            return WitnessReply(404, "not a log that this witness knows\n")
        try:
            request.signed.verify(log)
        except NoteError as error:
            return WitnessReply(403, f"{error}\n")
        try:
            new = checkpoint.parse(request.signed.text)
        except NoteError as error:
            is_empty = request.signed.text.split("\n")[1:2] == ["0"]
            return WitnessReply(422 if is_empty else 400, f"{error}\n")
        if request.old > new.size:
            return WitnessReply(400, "the old size is larger than the checkpoint's\n")
        return self._cosign(request, new, log, at)

    def _cosign(
        self, request: CosignRequest, new: Checkpoint, log: PublicKey, at: int
    ) -> WitnessReply:
        with locked_place(str(self._place(log.name)), log) as kept_checkpoint:
            seen = kept_checkpoint.checkpoint
            seen_size = 0 if seen is None else seen.size
            if request.old != seen_size:
                return WitnessReply(409, f"{seen_size}\n", "text/x.tlog.size")
            try:
                if seen_size == 0 and request.proof:
                    raise InvalidProof("a tree that continues the empty one needs no proof")
                if seen is not None and seen_size:
                    verify_consistency(seen.size, seen.root, new.size, new.root, request.proof)
            except InvalidProof as error:
                return WitnessReply(422, f"{error}\n")
            try:
                signature = self.own.sign(request.signed.text, at=at)
            except NoteError as error:
                return WitnessReply(400, f"{error}\n")
            of_log = [
                line
                for line in request.signed.signatures
                if (line.name, line.key_id) == (log.name, log.key_id)
            ]
            kept_checkpoint.replace(note.sign(request.signed.text, *of_log, signature))
        return WitnessReply(200, f"{signature}\n")

    def kept(self, origin_hash: str) -> WitnessReply:
        """The last checkpoint of a log, by the SHA-256 of its origin in hexadecimal."""
        for origin, log in self.logs.items():
            if _origin_hash(origin) == origin_hash:
                with locked_place(str(self._place(origin)), log) as kept_checkpoint:
                    if kept_checkpoint.note is not None:
                        return WitnessReply(200, str(kept_checkpoint.note))
        return WitnessReply(404, "nothing of this log was cosigned\n")

    def _place(self, origin: str) -> Path:
        return self.folder / f"{_origin_hash(origin)}.checkpoint"


def _origin_hash(origin: str) -> str:
    return hashlib.sha256(origin.encode()).hexdigest()
