"""The seal of a run: one hash over all events of its streams when it ended.

A proof of inclusion shows that an event is genuine; the seal shows that no event is missing.
It is the root of an RFC 6962 tree with one leaf for each stream, the streams in the order of
their ids:

    0x00 || "failproof-es/stream/1\\n" || stream id (16) || number of events (8, big-endian)
         || SHA-256 of the leaf hashes of its events, in version order, one after the other

The run's own stream is sealed up to the event before the seal.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import merge
from typing import Any

from failproof_es.ledger.merkle import HASH_BYTES, Frontier

_PREFIX = b"\x00failproof-es/stream/1\n"
_STREAM = struct.Struct(">16sQ32s")
"""A stream's id, its number of events, the SHA-256 of their joined leaf hashes."""
_ID_BYTES = 16


@dataclass(frozen=True, slots=True)
class Seal:
    """The numbers of streams and events of a run, and the hash over them."""

    streams: int
    events: int
    root: bytes


@dataclass(slots=True)
class _Stream:
    events: int = 0
    digest: Any = field(default_factory=hashlib.sha256)


class Sealing:
    """Collects a run's events, in version order within each stream; holds one hash per stream.

    If the streams are added in the order of their ids, call `close_streams` after each part to free
    its hashes.
    """

    def __init__(self) -> None:
        self._streams: dict[bytes, _Stream] = {}
        self._tree = Frontier()
        self._closed = 0
        self._events = 0

    def add(self, stream_id: bytes, leaf_hash: bytes) -> None:
        """Add the next event of a stream."""
        stream = self._streams.get(stream_id)
        if stream is None:
            stream = self._streams[stream_id] = _Stream()
        stream.events += 1
        self._events += 1
        stream.digest.update(leaf_hash)

    def close_streams(self) -> None:
        """Close the streams added so far. Further streams must have greater ids."""
        self._tree.extend(self._leaves())
        self._closed += len(self._streams)
        self._streams.clear()

    def seal(self) -> Seal:
        """The seal over all added events. Nothing can be added afterwards."""
        self.close_streams()
        return Seal(self._closed, self._events, self._tree.root())

    def _leaves(self) -> Iterable[bytes]:
        for stream_id, stream in sorted(self._streams.items()):
            yield _leaf(_STREAM.pack(stream_id, stream.events, stream.digest.digest()))


class WholeStreams:
    """A run's streams, each added whole, in any order; holds 56 bytes for each.

    The seal is the same as that of `Sealing`. A stream that is added twice counts once.
    """

    def __init__(self) -> None:
        self._parts = [bytearray() for _ in range(256)]
        """Records by the first byte of the id, so that only a few are sorted at a time."""

    def __len__(self) -> int:
        """Number of streams. Sorts them."""
        return sum(1 for _ in self._sorted())

    def add(self, stream_id: bytes, leaf_hashes: Sequence[bytes]) -> None:
        """Add a stream by the leaf hashes of all its events, in version order."""
        self.add_joined(stream_id, b"".join(leaf_hashes))

    def add_joined(self, stream_id: bytes, leaf_hashes: bytes) -> None:
        """Like `add`, but with the leaf hashes joined into one byte string."""
        self._parts[stream_id[0]] += _pack_record(stream_id, leaf_hashes)

    def ids(self) -> Iterator[bytes]:
        """The ids of the streams, in ascending order."""
        return (record[:_ID_BYTES] for record in self._sorted())

    def seal(self, stream_id: bytes, leaf_hashes: Sequence[bytes]) -> Seal:
        """The seal over these streams and one more, which is not added."""
        return seal_of_records(self._sorted(), stream_id, leaf_hashes)

    def _sorted(self) -> Iterator[bytes]:
        size = _STREAM.size
        for part in filter(None, self._parts):
            last = b""
            for record in sorted(bytes(part[at : at + size]) for at in range(0, len(part), size)):
                if record[:_ID_BYTES] != last:
                    yield record
                last = record[:_ID_BYTES]


def stream_record(stream_id: bytes, events: int, digest: bytes) -> bytes:
    """The record of a stream in its leaf; `digest` is the SHA-256 of its joined leaf hashes."""
    return _STREAM.pack(stream_id, events, digest)


def seal_of_records(
    records: Iterable[bytes], stream_id: bytes, leaf_hashes: Sequence[bytes]
) -> Seal:
    """The seal over the streams of `records`, in the order of their ids, and over one more."""
    last = _pack_record(stream_id, b"".join(leaf_hashes))
    tree, events = Frontier(), 0
    for record in merge(records, [last]):
        tree.append(_leaf(record))
        events += _STREAM.unpack(record)[1]
    return Seal(tree.size, events, tree.root())


def _pack_record(stream_id: bytes, leaf_hashes: bytes) -> bytes:
    digest = hashlib.sha256(leaf_hashes).digest()
    return _STREAM.pack(stream_id, len(leaf_hashes) // HASH_BYTES, digest)


def _leaf(record: bytes) -> bytes:
    """The leaf hash of a stream's record."""
    return hashlib.sha256(_PREFIX + record).digest()
