"""Projections: read models computed from the log. All can be deleted and rebuilt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from projections.protocol import Projection

if TYPE_CHECKING:
    PROJECTIONS: tuple[Projection, ...]
    """Every projection of ours; `projections.installed` has those of other packages, too."""

__all__ = ["PROJECTIONS", "Projection"]


def __getattr__(name: str) -> Any:
    """Loaded on first use: one built-in projection is beside its dialect, and imports this."""
    if name != "PROJECTIONS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from projections.installed import ours

    return ours()
