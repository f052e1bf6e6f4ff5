"""Decompresses a body in bounded steps. Pure.

A few kilobytes can expand to gigabytes. So a reader takes steps of at most `STEP_BYTES`, and stops
at its limit.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence

ACCEPTED = "gzip, deflate"
"""The value of `Accept-Encoding` in requests."""
STEP_BYTES = 2**16

_GZIP = 16 + zlib.MAX_WBITS
_GZIP_BEGINS = b"\x1f\x8b"
_IDENTITY = frozenset({"", "identity"})


class Undecodable(Exception):
    """A body that contradicts its `Content-Encoding`, or has an unsupported one."""


class Decompressor:
    """Decompresses a body piece by piece. Supports one coding at most."""

    def __init__(self, codings: Sequence[str]) -> None:
        """`codings`: the names in `Content-Encoding`.

        Raises `Undecodable` if there are several, or one other than gzip and deflate.
        """
        names = [name for coding in codings if (name := coding.strip().lower()) not in _IDENTITY]
        if len(names) > 1:
            raise Undecodable(f"the reply is packed {len(names)} times: {_list_names(names)}")
        self._coding = names[0].removeprefix("x-") if names else None
        if self._coding not in (None, "gzip", "deflate"):
            raise Undecodable(f"the reply is packed in a way that was not asked for: {names[0]}")
        self._stream: zlib._Decompress | None = None
        self._held = b""
        """The first byte of a `deflate` body: the second byte tells which of two forms it has."""
        self._complete = False

    @property
    def packed(self) -> bool:
        """Whether the body is compressed."""
        return self._coding is not None

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Yield the decompressed bytes in steps of at most `STEP_BYTES`, some of them empty.

        A body that is not compressed is yielded unchanged. Raises `Undecodable` if the bytes
        contradict the coding.
        """
        if self._coding is None:
            yield piece
            return
        piece, self._held = self._held + piece, b""
        more = False
        while piece or more:
            if self._stream is None:
                if self._coding == "deflate" and len(piece) < 2:
                    self._held = piece
                    return
                self._stream = self._start_stream(piece)
            stream = self._stream
            try:
                step = stream.decompress(piece, STEP_BYTES)
            except zlib.error as error:
                raise Undecodable(
                    f"the reply is not the {self._coding} that it says: {error}"
                ) from error
            if stream.eof:
                self._stream, self._complete, more = None, True, False
                piece = stream.unused_data
            else:
                # Zlib may hold more output although it has taken all input.
                more = len(step) == STEP_BYTES
                piece = stream.unconsumed_tail
            yield step

    def end(self) -> None:
        """End the body. Raises `Undecodable` if it is incomplete."""
        if self._stream is not None or self._held:
            raise Undecodable(f"the reply's {self._coding} ends in the middle")

    def _start_stream(self, piece: bytes) -> zlib._Decompress:
        """A decompressor for the stream that begins with `piece`: body or next gzip member."""
        if self._coding == "gzip":
            if self._complete and not _GZIP_BEGINS.startswith(piece[:2]):
                raise Undecodable("bytes that are not gzip follow the reply's gzip")
            return zlib.decompressobj(_GZIP)
        if self._complete:
            raise Undecodable("bytes follow the end of the reply's deflate")
        zlib_header = piece[0] & 0x0F == 8 and int.from_bytes(piece[:2], "big") % 31 == 0
        return zlib.decompressobj(zlib.MAX_WBITS if zlib_header else -zlib.MAX_WBITS)


def _list_names(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
