"""The links of the main navigation, in order. A page with a top-level path of its own adds one."""

from __future__ import annotations

from typing import NamedTuple


class NavigationEntry(NamedTuple):
    """A link of the main navigation, which is on every page."""

    word: str
    path: str
    of: tuple[str, ...]
    """Prefixes of the paths that belong to it."""


NAVIGATION = (
    NavigationEntry("Runs", "/runs", ("/runs", "/evaluations/", "/events/", "/streams/")),
    NavigationEntry("Compare", "/compare", ("/compare",)),
    NavigationEntry("Suites", "/suites", ("/suites", "/cases")),
    NavigationEntry("Review", "/review", ("/review",)),
    NavigationEntry("Ledger", "/ledger", ("/ledger",)),
)
