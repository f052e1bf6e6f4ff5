"""The evaluations that were checked while their run was driven, each with a hash of its events."""

from __future__ import annotations

import hashlib
from collections import defaultdict

_ID_BYTES = 16
_RECORD_BYTES = 48


def checked_digest(prompt: bytes, leaves: bytes) -> bytes:
    """SHA-256 over the hashes of an evaluation's events, to compare them later.

    `prompt` is the leaf hash of the event that holds the case, `leaves` are the joined leaf hashes
    of the evaluation's events in version order.
    """
    return hashlib.sha256(prompt + leaves).digest()


class CheckedStreams:
    """A compact mapping from stream ids (16 bytes) to digests (32 bytes).

    A stream leaves the mapping when it is taken.
    """

    def __init__(self) -> None:
        self._parts: defaultdict[int, bytearray] = defaultdict(bytearray)
        """Records by the first twelve bits of the id, so that a search reads few of them."""
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, stream_id: bytes) -> bool:
        return self._find(stream_id) >= 0

    def add(self, stream_id: bytes, digest: bytes) -> None:
        """Add a stream that is not in the mapping yet."""
        part = self._parts[stream_id[0] << 4 | stream_id[1] >> 4]
        part += stream_id
        part += digest
        self._count += 1

    def include(self, other: CheckedStreams) -> None:
        """Add the streams of `other`. A stream that is in both is kept twice."""
        for number, part in other._parts.items():
            self._parts[number] += part
        self._count += len(other)

    def take(self, stream_id: bytes) -> bytes | None:
        """Remove a stream and return its digest; `None` if the mapping does not have it."""
        at = self._find(stream_id)
        if at < 0:
            return None
        part = self._parts[stream_id[0] << 4 | stream_id[1] >> 4]
        digest = bytes(part[at + _ID_BYTES : at + _RECORD_BYTES])
        del part[at : at + _RECORD_BYTES]
        self._count -= 1
        return digest

    def _find(self, stream_id: bytes) -> int:
        part = self._parts.get(stream_id[0] << 4 | stream_id[1] >> 4, b"")
        at = part.find(stream_id)
        while at >= 0 and at % _RECORD_BYTES:  # a match across two records
            at = part.find(stream_id, at + 1)
        return at
