"""Parses untrusted JSON: estimates its memory first. Pure.

Text takes what it is long. Structure takes up to thirty times that: eight megabytes of
`{"":0},` would be a quarter of a gigabyte of objects.
"""

from __future__ import annotations

from typing import Any

import orjson

_MOST_STRUCTURE_BYTES = 96 * 2**20
"""A reply with the twenty likeliest tokens at each of two thousand has less."""
_ALWAYS_READ_BYTES = 2**18
"""So little JSON can't take more than that."""
_WEIGHTS = {b"{": 80, b"[": 80, b":": 90, b",": 40}
"""What an object, a list, an entry and a value take with CPython's own overhead, in bytes."""
_STRING = 56
_PIECE_BYTES = 2**18


class JsonTooComplex(ValueError):
    """The JSON would take more memory than any answer does."""


def read_json(text: bytes | str) -> Any:
    """What `text` says. Raises `JsonTooComplex`, or `ValueError` for what is no JSON."""
    data = text.encode() if isinstance(text, str) else text
    if len(data) > _ALWAYS_READ_BYTES and _structure_bytes(data) > _MOST_STRUCTURE_BYTES:
        most = _MOST_STRUCTURE_BYTES // 2**20
        raise JsonTooComplex(f"what its JSON holds would take more than {most} MiB of memory")
    return orjson.loads(data)


def _structure_bytes(data: bytes) -> int:
    """What the values in the JSON take without the text in them; not too little, in any case."""
    most = _weight(data) + _STRING * data.count(b'"') // 2
    if most <= _MOST_STRUCTURE_BYTES:
        return most  # even if every brace and comma in its texts were structure
    plain = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    strings = plain.count(b'"') // 2
    if strings * _STRING > _MOST_STRUCTURE_BYTES:
        return strings * _STRING
    weight, inside = _STRING * strings, 0
    for start in range(0, len(plain), _PIECE_BYTES):
        parts = plain[start : start + _PIECE_BYTES].split(b'"')
        weight += _weight(b"".join(parts[inside::2]))
        inside ^= (len(parts) - 1) % 2
    return weight


def _weight(structure: bytes) -> int:
    return sum(weight * structure.count(sign) for sign, weight in _WEIGHTS.items())
