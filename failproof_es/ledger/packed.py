"""Many ids and digests in little memory: joined bytes instead of a Python object for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

DIGEST_BYTES = 32
_PARTS_BITS = 12
_DIGITS = 2 * DIGEST_BYTES


class PackedMap:
    """A map from keys of one length to values of one length, which stores only their bytes.

    The first bytes of keys must be random, as in digests: they select one of 4,096 parts, which is
    searched from its beginning.
    """

    def __init__(self, key_bytes: int, value_bytes: int = 0) -> None:
        self._key_bytes = key_bytes
        self._value_bytes = value_bytes
        self._parts: dict[int, tuple[bytearray, bytearray]] = {}
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def __contains__(self, key: bytes) -> bool:
        return self._place(key)[1] >= 0

    def add(self, key: bytes, value: bytes = b"") -> bool:
        """Add a key with its value; false, and no change, if the key exists."""
        part, place = self._place(key)
        if place >= 0:
            return False
        if part is None:
            part = self._parts[self._number(key)] = bytearray(), bytearray()
        part[0].extend(key)
        part[1].extend(value)
        self._length += 1
        return True

    def find(self, key: bytes) -> bytes | None:
        """The value of a key; `None` if it is missing."""
        part, place = self._place(key)
        if part is None or place < 0:
            return None
        size = self._value_bytes
        return bytes(part[1][place * size : (place + 1) * size])

    def pop(self, key: bytes) -> bytes | None:
        """Remove a key and return its value; `None` if it is missing."""
        value = self.find(key)
        part, place = self._place(key)
        if part is not None and value is not None:
            for held, size in zip(part, (self._key_bytes, self._value_bytes), strict=True):
                del held[place * size : (place + 1) * size]
            self._length -= 1
        return value

    def __iter__(self) -> Iterator[bytes]:
        """The keys in ascending order."""
        return (key for key, _ in self.items())

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """(key, value) in ascending order of keys."""
        wide, size = self._key_bytes, self._value_bytes
        for number in sorted(self._parts):
            keys, values = (bytes(held) for held in self._parts[number])
            yield from sorted(
                (keys[at * wide : (at + 1) * wide], values[at * size : (at + 1) * size])
                for at in range(len(keys) // wide)
            )

    @staticmethod
    def _number(key: bytes) -> int:
        return int.from_bytes(key[:2], "big") >> 16 - _PARTS_BITS

    def _place(self, key: bytes) -> tuple[tuple[bytearray, bytearray] | None, int]:
        """The part of a key (`None` if it does not exist), and the key's index in it or -1."""
        part = self._parts.get(self._number(key))
        if part is None or len(key) != self._key_bytes:
            return part, -1
        wide = self._key_bytes
        at = part[0].find(key)
        while at > 0 and at % wide:
            at = part[0].find(key, at + 1)
        return part, at if at < 0 else at // wide


class Digests(Sequence[str]):
    """A sequence of SHA-256 digests in hexadecimal, stored in 32 bytes each."""

    __slots__ = ("packed",)

    def __init__(self, packed: bytes) -> None:
        self.packed = packed
        """The joined digests."""

    @classmethod
    def read(cls, value: object) -> Digests | None:
        """The value as `Digests`; `None` if it is not a list of digests in lower case."""
        if type(value) is not list:
            return None
        try:
            joined = "".join(value)
            packed = bytes.fromhex(joined)
        except (TypeError, ValueError):
            return None
        if packed.hex() != joined or any(len(digest) != _DIGITS for digest in value):
            return None
        return cls(packed)

    def __len__(self) -> int:
        return len(self.packed) // DIGEST_BYTES

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self[index] for index in range(*place.indices(len(self)))]
        at = range(len(self))[place] * DIGEST_BYTES
        return self.packed[at : at + DIGEST_BYTES].hex()

    def parts(self) -> Iterator[bytes]:
        """The 32 bytes of each digest."""
        packed = self.packed
        return (packed[at : at + DIGEST_BYTES] for at in range(0, len(packed), DIGEST_BYTES))


def sorted_digests(lists: Iterable[Digests]) -> Iterator[str]:
    """The distinct digests of several lists in hexadecimal, in ascending order."""
    records = PackedMap(DIGEST_BYTES)
    for digests in lists:
        for digest in digests.parts():
            records.add(digest)
    return (digest.hex() for digest in records)
