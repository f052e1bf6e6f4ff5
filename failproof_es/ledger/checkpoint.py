"""Checkpoints (C2SP tlog-checkpoint): a signed note with the size and the root of a tree.

<origin: name of the log>
<size, in decimal>
<root, in base64>
[extension lines, none of them empty]
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass

from failproof_es.ledger import note
from failproof_es.ledger.merkle import EMPTY_ROOT, HASH_BYTES
from failproof_es.ledger.note import ED25519, Note, NoteError, PublicKey, SigningKey

_SIZE = re.compile(r"0|[1-9][0-9]{0,18}")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A tree's origin, size and root, as the text of a note holds them."""

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()

    def text(self) -> str:
        """The note's text."""
        lines = (self.origin, str(self.size), base64.b64encode(self.root).decode("ascii"))
        return "".join(f"{line}\n" for line in (*lines, *self.extensions))

    def signed(self, key: SigningKey) -> Note:
        """The checkpoint signed by the log's own key, whose name is the origin.

        Raises `NoteError` for any other key.
        """
        if key.kind != ED25519 or key.name != self.origin:
            raise NoteError(f"a key named {key.name!r} does not sign for {self.origin!r}")
        return note.sign(self.text(), key.sign(self.text()))


def parse(text: str) -> Checkpoint:
    """Parse the text of a note as a checkpoint. Raises `NoteError`."""
    lines = text.split("\n")
    if len(lines) < 4 or lines.pop() or not all(lines):
        raise NoteError("a checkpoint needs an origin, a size and a root, and no empty line")
    origin, size, root, *extensions = lines
    if not _SIZE.fullmatch(size):
        raise NoteError(f"not a tree's size: {size[:40]!r}")
    try:
        decoded = base64.b64decode(root, validate=True)
    except (ValueError, binascii.Error):
        raise NoteError("the root is not base64") from None
    checkpoint = Checkpoint(origin, int(size), decoded, tuple(extensions))
    if len(decoded) != HASH_BYTES or checkpoint.text() != text:
        raise NoteError("the root is not 32 bytes in canonical base64")
    if not checkpoint.size and decoded != EMPTY_ROOT:
        raise NoteError("the root is not that of an empty tree")
    return checkpoint


def opened(signed: Note, key: PublicKey) -> Checkpoint:
    """The checkpoint in a note, verified: signed by the log's `key`, for its own origin.

    Raises `NoteError`.
    """
    if key.kind != ED25519:
        raise NoteError(f"{key.name} is a cosigner's key, not a log's own")
    signed.verify(key)
    checkpoint = parse(signed.text)
    if checkpoint.origin != key.name:
        raise NoteError(f"{key.name!r} signed a checkpoint of {checkpoint.origin[:80]!r}")
    return checkpoint
