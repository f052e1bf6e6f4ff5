"""Finds the dialect of a recorded run, if this installation can grade with it."""

from __future__ import annotations

from failproof_es.dialects import dialect_named
from failproof_es.dialects.protocol import Dialect
from failproof_es.support.extras import require_for


def usable_dialect(name: str) -> Dialect:
    """The dialect of that name.

    Raises `InvalidInput` where there is none, or where the extra is not installed that it needs.
    """
    dialect = dialect_named(name)
    require_for(dialect, f"the dialect `{name}`")
    return dialect
