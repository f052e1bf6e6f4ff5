"""The seal of a run: one hash over everything that its streams held when it ended.

A proof of inclusion says that what is shown is genuine; the seal says that nothing is
missing. It is the root of an RFC 6962 tree with one leaf for each stream, the streams in the
order of their ids:

    0x00 || "failproof-es/stream/1\\n" || stream id (16) || number of events (8, big-endian)
         || SHA-256 of the leaf hashes of its events, in version order, one after the other

The run's own stream is sealed up to the event before the seal.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from failproof_es.ledger.merkle import Frontier

_PREFIX = b"\x00failproof-es/stream/1\n"
_COUNT = struct.Struct(">Q")


@dataclass(frozen=True, slots=True)
class Seal:
    """How many streams and events a run had, and the hash over them."""

    streams: int
    events: int
    root: bytes


@dataclass(slots=True)
class _Stream:
    events: int = 0
    digest: Any = field(default_factory=hashlib.sha256)


class Sealing:
    """Collects a run's events, in version order within each stream; holds one hash a stream.

    Whoever adds the streams in the order of their ids may say with `close_streams` where all
    of a part have been added: then nothing is held of those.
    """

    def __init__(self) -> None:
        self._streams: dict[bytes, _Stream] = {}
        self._tree = Frontier()
        self._closed = 0
        self._events = 0

    def add(self, stream_id: bytes, leaf_hash: bytes) -> None:
        """The next event of a stream."""
        stream = self._streams.setdefault(stream_id, _Stream())
        stream.events += 1
        self._events += 1
        stream.digest.update(leaf_hash)

    def close_streams(self) -> None:
        """The streams added so far are whole, and those that follow have greater ids."""
        self._tree.extend(self._leaves())
        self._closed += len(self._streams)
        self._streams.clear()

    def seal(self) -> Seal:
        """The seal over everything that was added; nothing more is to be added."""
        self.close_streams()
        return Seal(self._closed, self._events, self._tree.root())

    def _leaves(self) -> Iterable[bytes]:
        for stream_id, stream in sorted(self._streams.items()):
            content = stream_id + _COUNT.pack(stream.events) + stream.digest.digest()
            yield hashlib.sha256(_PREFIX + content).digest()
