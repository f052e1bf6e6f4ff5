"""Fingerprints of the values of a model's configured headers, to detect a changed value.

A value may be a secret, and is never recorded. Its fingerprint is 16 bits of a slow hash: two
values share a fingerprint in one of 65,536 cases, so that a change shows, and a reader of the
record cannot confirm a guessed value.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from functools import lru_cache

_DIGITS = 4
_COST = 2**14
"""The cost parameter of scrypt: about 50 ms and 16 MiB for each value."""


def header_fingerprints(headers: Mapping[str, str]) -> str:
    """`name fingerprint` of each header, sorted by name and joined by commas.

    `headers`: the environment variable of each header. The fingerprint depends on the variable's
    value, not on its name.
    """
    values = ((name.lower(), os.environ.get(variable, "")) for name, variable in headers.items())
    return ", ".join(f"{name} {_fingerprint(name, value)}" for name, value in sorted(values))


@lru_cache(maxsize=64)
def _fingerprint(name: str, value: str) -> str:
    salt = f"failproof-es header {name}".encode()
    digest = hashlib.scrypt(
        value.encode("utf-8", "surrogateescape"), salt=salt, n=_COST, r=8, p=1, dklen=32
    )
    return digest.hex()[:_DIGITS]
