"""The tree as RFC 6962 § 2.1 defines it, word for word and slow: what `merkle` is held to."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence


def leaf_hash(data: bytes) -> bytes:
    """MTH({d(0)}) = SHA-256(0x00 || d(0))."""
    return hashlib.sha256(b"\x00" + data).digest()


def root(leaves: Sequence[bytes]) -> bytes:
    """MTH(D[n]) over leaf *data*."""
    n = len(leaves)
    if n == 0:
        return hashlib.sha256(b"").digest()
    if n == 1:
        return leaf_hash(leaves[0])
    k = _split(n)
    return hashlib.sha256(b"\x01" + root(leaves[:k]) + root(leaves[k:])).digest()


def inclusion_path(m: int, leaves: Sequence[bytes]) -> list[bytes]:
    """PATH(m, D[n]) (§ 2.1.1)."""
    n = len(leaves)
    if n == 1:
        return []
    k = _split(n)
    if m < k:
        return [*inclusion_path(m, leaves[:k]), root(leaves[k:])]
    return [*inclusion_path(m - k, leaves[k:]), root(leaves[:k])]


def consistency_path(m: int, leaves: Sequence[bytes]) -> list[bytes]:
    """PROOF(m, D[n]) (§ 2.1.2)."""
    return _subproof(m, leaves, complete=True)


def _subproof(m: int, leaves: Sequence[bytes], *, complete: bool) -> list[bytes]:
    n = len(leaves)
    if m == n:
        return [] if complete else [root(leaves)]
    k = _split(n)
    if m <= k:
        return [*_subproof(m, leaves[:k], complete=complete), root(leaves[k:])]
    return [*_subproof(m - k, leaves[k:], complete=False), root(leaves[:k])]


def _split(n: int) -> int:
    """The largest power of two smaller than n."""
    k = 1
    while k * 2 < n:
        k *= 2
    return k
