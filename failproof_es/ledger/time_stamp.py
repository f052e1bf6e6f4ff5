"""RFC 3161 time stamps of a note, as signature lines of it.

    — <name of the authority> <base64 of key id || response>

The response (DER) is that of the time-stamping authority, with its certificates, on the SHA-256 of
the note's text. The key id depends on the name alone: what counts is the certificate of the root
that a verifier trusts. Other readers of notes keep the line as that of a key that is unknown.
"""

from __future__ import annotations

import hashlib

from failproof_es.ledger.note import KEY_ID_BYTES, Note, Signature

_IDENTITY = b"\n\xffRFC 3161 time stamp"
"""The kind of a key that C2SP signed-note leaves to everybody, and a text of our own."""


def time_stamp_line(name: str, response: bytes) -> Signature:
    """The signature line of the authority's response."""
    return Signature(name, _key_id(name), response)


def time_stamps(signed: Note) -> list[Signature]:
    """The lines of the note that hold a time stamp. None is verified."""
    return [line for line in signed.signatures if line.key_id == _key_id(line.name)]


def _key_id(name: str) -> bytes:
    return hashlib.sha256(name.encode() + _IDENTITY).digest()[:KEY_ID_BYTES]
