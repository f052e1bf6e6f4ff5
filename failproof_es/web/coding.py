"""Unpacks a compressed body in bounded steps. Pure.

A few kilobytes can unpack to gigabytes. So nothing is unpacked at once: whoever reads takes
one step of at most `STEP_BYTES` after the other, and stops when it is enough.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence

ACCEPTED = "gzip, deflate"
"""What a request says that it takes (`Accept-Encoding`)."""
STEP_BYTES = 2**16

_GZIP = 16 + zlib.MAX_WBITS
_GZIP_BEGINS = b"\x1f\x8b"
_IDENTITY = frozenset({"", "identity"})


class Undecodable(Exception):
    """A body that its `Content-Encoding` does not describe, or one that is not taken."""


class Decompressor:
    """Feed the body as it comes; take what it unpacks to. One coding at most."""

    def __init__(self, codings: Sequence[str]) -> None:
        """`codings` as `Content-Encoding` names them. Raises `Undecodable`."""
        names = [name for coding in codings if (name := coding.strip().lower()) not in _IDENTITY]
        if len(names) > 1:
            raise Undecodable(f"the reply is packed {len(names)} times: {_list_names(names)}")
        self._coding = names[0].removeprefix("x-") if names else None
        if self._coding not in (None, "gzip", "deflate"):
            raise Undecodable(f"the reply is packed in a way that was not asked for: {names[0]}")
        self._stream: zlib._Decompress | None = None
        self._held = b""
        """The first byte of a `deflate` body: the second one tells which of two kinds it is."""
        self._complete = False

    @property
    def packed(self) -> bool:
        """Whether the body is packed at all."""
        return self._coding is not None

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Steps of at most `STEP_BYTES`, some of them empty. Raises `Undecodable`."""
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
                more = len(step) == STEP_BYTES  # the rest may wait inside, its input all taken
                piece = stream.unconsumed_tail
            yield step

    def end(self) -> None:
        """No more comes. Raises `Undecodable` where the body is not complete."""
        if self._stream is not None or self._held:
            raise Undecodable(f"the reply's {self._coding} ends in the middle")

    def _start_stream(self, piece: bytes) -> zlib._Decompress:
        """A stream that begins with `piece`: the body, or the next member of a gzip file."""
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
