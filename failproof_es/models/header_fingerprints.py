"""Fingerprints of the values of a model's own headers, so that a change of one shows.

A value may be a secret, and is on record nowhere. Its fingerprint is 16 bits of a slow hash: a
changed value has another one in 65,535 of 65,536 cases, and whoever reads the record learns too
little to know a value by, because one of 65,536 guesses fits it, too.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from functools import lru_cache

_DIGITS = 4
_COST = 2**14
"""Of scrypt: some 50 ms and 16 MiB for each value."""


def header_fingerprints(headers: Mapping[str, str]) -> str:
    """The names of headers, each with the fingerprint of its value in the environment, in order.

    `headers` names the variable of each. The value decides, not the variable that holds it.
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
