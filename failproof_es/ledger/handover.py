"""Key handover: a signed note in which a log's old key names its new one.

failproof-es/handover/1
<old origin: the name of the key that signs this>
<new public key: name+id+base64>

Its second line is not a number, so it can never be taken for a checkpoint, nor a checkpoint for it.
"""

from __future__ import annotations

from failproof_es.ledger import note
from failproof_es.ledger.note import Note, NoteError, PublicKey, SigningKey

_FORM = "failproof-es/handover/1"


def handover(old: SigningKey, new: PublicKey) -> Note:
    """The signed note in which the key `old` names the key `new` as its successor."""
    text = f"{_FORM}\n{old.name}\n{new}\n"
    return note.sign(text, old.sign(text))


def successor(document: str, old: PublicKey) -> PublicKey:
    """The key that `old` names as its successor in a signed note. Raises `NoteError`."""
    signed = note.parse(document)
    signed.verify(old)
    lines = signed.text.split("\n")
    if len(lines) != 4 or lines[:2] != [_FORM, old.name]:
        raise NoteError(f"{old.name!r} did not sign a handover")
    return PublicKey.parse(lines[2])
