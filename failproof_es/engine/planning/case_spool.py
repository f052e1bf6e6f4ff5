"""Holds checked cases in a temporary file until they are stored, each encoded once.

A suite is checked whole before anything is stored. The checked cases are stored without reading the
suite again, and memory does not grow with the cases.
"""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

_IN_MEMORY = 2**20
_LENGTH = struct.Struct("<Q")
_DIGEST_BYTES = 32


class SpooledCase(NamedTuple):
    """A case as it is stored."""

    digest: str
    document: bytes
    """The case as JSON."""


class CaseSpool:
    """Cases in the order in which they were added; those of a small suite stay in memory."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - see `close`
        self.cases = 0

    def add(self, digest: str, document: bytes) -> None:
        """Add the next case: its digest in hexadecimal, and the case as JSON.

        Raises `OSError` if the temporary folder is full.
        """
        self._file.write(b"".join((_LENGTH.pack(len(document)), bytes.fromhex(digest), document)))
        self.cases += 1

    def flush(self) -> None:
        """Write buffered cases to the file, so that reading writes nothing.

        Raises `OSError` if the temporary folder is full.
        """
        self._file.flush()

    def __iter__(self) -> Iterator[SpooledCase]:
        """All cases, from the first. No case may be added meanwhile."""
        self._file.seek(0)
        while head := self._file.read(_LENGTH.size + _DIGEST_BYTES):
            (length,) = _LENGTH.unpack_from(head)
            yield SpooledCase(head[_LENGTH.size :].hex(), self._file.read(length))

    def close(self) -> None:
        """Delete the temporary file."""
        with suppress(OSError):  # the buffer may not fit on disk; nobody reads it any more
            self._file.close()

    __del__ = close
