"""Which evaluations were checked while their run was driven, each with a hash over its events."""

from __future__ import annotations

import hashlib
from collections import defaultdict

_ID_BYTES = 16
_RECORD_BYTES = 48


def checked_digest(prompt: bytes, leaves: bytes) -> bytes:
    """SHA-256 over the leaf of the prompt's event and those of the evaluation, in version order."""
    return hashlib.sha256(prompt + leaves).digest()


class CheckedStreams:
    """Digests by stream id. Holds 48 bytes of each, and lets go of what is taken."""

    def __init__(self) -> None:
        self._parts: defaultdict[int, bytearray] = defaultdict(bytearray)
        """By the first twelve bits of the id, so that little is searched for one."""
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, stream_id: bytes) -> bool:
        return self._find(stream_id) >= 0

    def add(self, stream_id: bytes, digest: bytes) -> None:
        """Add a stream that is not there yet."""
        part = self._parts[stream_id[0] << 4 | stream_id[1] >> 4]
        part += stream_id
        part += digest
        self._count += 1

    def include(self, other: CheckedStreams) -> None:
        """Add those of another one. A stream that is in both is there twice then."""
        for number, part in other._parts.items():
            self._parts[number] += part
        self._count += len(other)

    def take(self, stream_id: bytes) -> bytes | None:
        """The digest of a stream, which is not there any more then; `None` where there is none."""
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
        while at >= 0 and at % _RECORD_BYTES:  # found across the edge of a record
            at = part.find(stream_id, at + 1)
        return at
