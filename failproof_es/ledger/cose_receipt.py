"""COSE receipts (RFC 9942, as RFC 9943 § 6 has them): that an event is in the log, signed by it.

A `COSE_Sign1` whose detached payload is the root of the tree. Its proof of inclusion is of the kind
RFC9162_SHA256, in which the tree of this log is. The unprotected header also holds the event, as
its line in an evidence file has it, because a verifier computes the leaf from it.
"""

from __future__ import annotations

from collections.abc import Sequence

from failproof_es.ledger.note import LOG_SIGNATURES, NoteError, SigningKey

EVENT_LABEL = "failproof-es.event"
"""Label of the event in the unprotected header."""

_SIGN1 = 18
_ALGORITHM, _KEY_ID, _CLAIMS, _TREE_KIND, _PROOFS = 1, 4, 15, 395, 396
_EDDSA, _RFC9162_SHA256, _INCLUSION = -8, 1, -1
_ISSUER, _SUBJECT = 1, 2


def receipt(
    key: SigningKey,
    event: bytes,
    subject: str,
    index: int,
    path: Sequence[bytes],
    tree: tuple[int, bytes],
) -> bytes:
    """The receipt of the leaf `index` in the tree of this size and root, which `key` signs.

    `event` is its line in an evidence file, `subject` says what it is. Raises `NoteError` for a key
    that is not a log's own.
    """
    import cbor2

    if key.kind not in LOG_SIGNATURES:
        raise NoteError(f"{key.name} is a cosigner's key, not a log's own")
    size, root = tree
    protected = cbor2.dumps(
        {
            _ALGORITHM: _EDDSA,
            _KEY_ID: key.public.key_id,
            _CLAIMS: {_ISSUER: key.name, _SUBJECT: subject},
            _TREE_KIND: _RFC9162_SHA256,
        },
        canonical=True,
    )
    proof = cbor2.dumps([size, index, list(path)], canonical=True)
    signature = key.secret.sign(cbor2.dumps(["Signature1", protected, b"", root], canonical=True))
    unprotected = {_PROOFS: {_INCLUSION: [proof]}, EVENT_LABEL: event}
    return cbor2.dumps(
        cbor2.CBORTag(_SIGN1, [protected, unprotected, None, signature]), canonical=True
    )
