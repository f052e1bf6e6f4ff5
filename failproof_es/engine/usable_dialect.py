"""Finds the dialect of a recorded run, if this installation can grade with it."""

from __future__ import annotations

from failproof_es.dialects import dialect_named
from failproof_es.dialects.protocol import Dialect
from failproof_es.support.extras import require_for


def usable_dialect(name: str) -> Dialect:
    """Return the dialect with this name.

    Raises `InvalidInput` if there is none, or if an extra that it needs is not installed.
    """
    dialect = dialect_named(name)
    require_for(dialect, f"the dialect `{name}`")
    return dialect
