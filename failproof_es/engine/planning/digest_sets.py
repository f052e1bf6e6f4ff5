"""A sorted set of digests of any size: little of it in memory, the rest on disk."""

from __future__ import annotations

import heapq
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from typing import BinaryIO

DIGEST_BYTES = 32
AT_ONCE = 2**15
"""Number of digests that are sorted in memory: 1 MB."""
_READ_AT_ONCE = 512


class DigestSet:
    """Digests that are added in any order and read in ascending order, each once.

    `at_once` digests are held in memory, the others on disk.
    """

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._at_once = at_once
        self._last = bytearray()
        """The digests that were added last, unsorted."""
        self._sorted: BinaryIO | None = None
        """The other digests, in sorted portions of `at_once`."""
        self._portions = 0

    def add(self, digest: bytes) -> None:
        """Add a digest of 32 bytes. Raises `OSError` if the temporary folder is full."""
        self._last += digest
        if len(self._last) == self._at_once * DIGEST_BYTES:
            if self._sorted is None:
                self._sorted = tempfile.TemporaryFile()  # noqa: SIM115 - gone with this object
            self._sorted.seek(0, 2)
            self._sorted.write(b"".join(_sort_packed(self._last)))
            self._portions += 1
            self._last.clear()

    def flush(self) -> None:
        """Write buffered digests to the file. Raises `OSError` if the temporary folder is full."""
        if self._sorted is not None:
            self._sorted.flush()

    def __iter__(self) -> Iterator[str]:
        """The digests in ascending order, in hexadecimal."""
        portions = [self._read_portion(number) for number in range(self._portions)]
        before = b""
        for digest in heapq.merge(_sort_packed(self._last), *portions):
            if digest != before:
                yield digest.hex()
            before = digest

    def _read_portion(self, number: int) -> Iterator[bytes]:
        assert self._sorted is not None
        begin = number * self._at_once
        for first in range(begin, begin + self._at_once, _READ_AT_ONCE):
            count = min(_READ_AT_ONCE, begin + self._at_once - first)
            self._sorted.seek(first * DIGEST_BYTES)
            yield from split(self._sorted.read(count * DIGEST_BYTES))

    def close(self) -> None:
        """Delete the temporary file."""
        if self._sorted is not None:
            with suppress(OSError):  # the buffer may not fit on disk; nobody reads it any more
                self._sorted.close()

    __del__ = close


def split(packed: bytes | bytearray) -> Iterator[bytes]:
    """Digests of 32 bytes each that are joined in `packed`, one by one."""
    for start in range(0, len(packed), DIGEST_BYTES):
        yield bytes(packed[start : start + DIGEST_BYTES])


def _sort_packed(packed: bytearray) -> list[bytes]:
    return sorted(split(packed))
