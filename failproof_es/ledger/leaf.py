"""The hash of a leaf: it commits to one event, exactly as its row holds it.

    0x00 || "failproof-es/event/1\\n" || stream id (16) || version (8)
         || length of the topic (2) || topic in UTF-8
         || length of the state (8) || SHA-256 of the state's bytes (32)

Integers are unsigned and big-endian. The writer computes the hash before the insert, and every
reader computes it again from the row, from the stored bytes, never from JSON that was parsed and
written again. The database also computes it (`store/functions/leaf_of.sql`), but only to refuse a
wrong one: its result proves nothing. `recorded_at` and the position are not in it, because the
database sets them after the writer has sent the event.
"""

from __future__ import annotations

import hashlib
import struct

_PREFIX = b"\x00failproof-es/event/1\n"
_VERSION_AND_TOPIC = struct.Struct(">QH")
_STATE = struct.Struct(">Q32s")
_VERSIONS = 1 << 63
_TOPIC_BYTES = (1 << 16) - 1


class NoLeaf(ValueError):
    """A value that no event can have, so there is no leaf for it."""


def leaf_hash(stream_id: bytes, version: int, topic: bytes, state: bytes | memoryview) -> bytes:
    """The leaf's hash, 32 bytes. `stream_id` is 16 bytes; `state` is exactly the stored bytes.

    Raises `NoLeaf` for a value that no event can have.
    """
    check_event(stream_id, version, topic)
    return hashlib.sha256(
        _PREFIX
        + stream_id
        + _VERSION_AND_TOPIC.pack(version, len(topic))
        + topic
        + _STATE.pack(len(state), hashlib.sha256(state).digest())
    ).digest()


def check_event(stream_id: bytes, version: int, topic: bytes) -> None:
    """Raise `NoLeaf` for a stream id, version or topic that no event can have."""
    if len(stream_id) != 16:
        raise NoLeaf(f"its stream's id is {len(stream_id)} bytes long instead of 16")
    if not 0 <= version < _VERSIONS:
        raise NoLeaf(f"its version is {version}; versions count from 1")
    if len(topic) > _TOPIC_BYTES:
        raise NoLeaf(f"its topic is {len(topic):,} bytes long; {_TOPIC_BYTES:,} are the most")
