"""Decodes AWS's binary event streams from bytes that arrive in any pieces. Pure.

A frame is: its length and the length of its headers (4 bytes each), the CRC-32 of these 8 bytes,
headers, payload, the CRC-32 of everything so far. A header is the length of its name (1 byte), the
name, a type (1 byte) and the value; the value of a text or of bytes begins with its length (2
bytes). Only text headers are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from zlib import crc32

_PRELUDE, _LONGEST = 12, 2**24
_BYTES, _TEXT = 6, 7
_LENGTHS = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Bytes of the value of each other type: true, false, integers, a timestamp, a UUID."""


class BrokenFrame(ValueError):
    """The bytes are not a valid frame."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One event of the stream."""

    headers: Mapping[str, str]
    payload: bytes


class FrameStream:
    """Decodes fed bytes into frames."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._needed = _PRELUDE
        """The bytes that must be buffered before the next frame can be read."""

    def feed(self, piece: bytes) -> Iterator[Frame]:
        """Yield the frames that end in this piece.

        Raises `BrokenFrame` if a length, a checksum or a header is invalid.
        """
        self._rest += piece
        if len(self._rest) < self._needed:
            return
        start, self._needed = 0, _PRELUDE
        view = memoryview(bytes(self._rest))
        while len(view) - start >= _PRELUDE:
            length, headers, checksum = (
                int.from_bytes(view[at : at + 4]) for at in range(start, start + _PRELUDE, 4)
            )
            if crc32(view[start : start + 8]) != checksum:
                raise BrokenFrame("the checksum of a frame's length is wrong")
            if not _PRELUDE + headers + 4 <= length <= _LONGEST:
                raise BrokenFrame("a frame has an impossible length")
            if len(view) - start < length:
                self._needed = length
                break
            yield _read_frame(view[start : start + length], headers)
            start += length
        del self._rest[:start]


def _read_frame(frame: memoryview, headers: int) -> Frame:
    if crc32(frame[:-4]) != int.from_bytes(frame[-4:]):
        raise BrokenFrame("the checksum of a frame is wrong")
    end = _PRELUDE + headers
    return Frame(dict(_read_headers(bytes(frame[_PRELUDE:end]))), bytes(frame[end:-4]))


def _read_headers(block: bytes) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(block):
        name_end = at + 1 + block[at]
        kind, value = block[name_end] if name_end < len(block) else None, name_end + 1
        if kind in (_BYTES, _TEXT):
            value += 2
            length: int | None = int.from_bytes(block[name_end + 1 : value])
        else:
            length = _LENGTHS.get(kind) if kind is not None else None
        if length is None or value + length > len(block):
            raise BrokenFrame("a header of a frame can't be read")
        end = value + length
        if kind == _TEXT:
            try:
                yield block[at + 1 : name_end].decode(), block[value:end].decode()
            except UnicodeDecodeError:
                raise BrokenFrame("a header of a frame is not UTF-8") from None
        at = end
