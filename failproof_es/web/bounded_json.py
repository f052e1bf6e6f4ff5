"""Parses untrusted JSON, after an estimate of the memory it takes. Pure.

Texts take their length in memory. Structure takes up to 30 times its length: 8 MB of `{"":0},`
would become 250 MB of objects.
"""

from __future__ import annotations

from typing import Any

import orjson

_MOST_STRUCTURE_BYTES = 96 * 2**20
"""The memory limit of structure. A reply with 20 alternatives for each of 2,000 tokens is below."""
_ALWAYS_READ_BYTES = 2**18
"""JSON of up to this length cannot exceed the memory limit."""
_WEIGHTS = {b"{": 80, b"[": 80, b":": 90, b",": 40}
"""Bytes in memory of an object, a list, an entry and a value, CPython's overhead included."""
_STRING = 56
_PIECE_BYTES = 2**18


class JsonTooComplex(ValueError):
    """The JSON would take more memory than is allowed."""


def read_json(text: bytes | str) -> Any:
    """The value of the JSON `text`.

    Raises `JsonTooComplex` if its structure would take more than 96 MiB of memory, or `ValueError`
    if it is not JSON.
    """
    data = text.encode() if isinstance(text, str) else text
    if len(data) > _ALWAYS_READ_BYTES and _structure_bytes(data) > _MOST_STRUCTURE_BYTES:
        most = _MOST_STRUCTURE_BYTES // 2**20
        raise JsonTooComplex(f"what its JSON holds would take more than {most} MiB of memory")
    return orjson.loads(data)


def _structure_bytes(data: bytes) -> int:
    """An upper bound of the memory of the JSON's values, without the text in them, in bytes."""
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
