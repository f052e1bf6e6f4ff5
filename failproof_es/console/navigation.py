"""The words of the main navigation, in order. A page that begins a path of its own adds one."""

from __future__ import annotations

from typing import NamedTuple


class NavigationEntry(NamedTuple):
    """A link that stands on every page."""

    word: str
    path: str
    of: tuple[str, ...]
    """What the paths begin with that belong to it."""


NAVIGATION = (
    NavigationEntry("Runs", "/runs", ("/runs", "/evaluations/", "/events/", "/streams/")),
    NavigationEntry("Compare", "/compare", ("/compare",)),
    NavigationEntry("Suites", "/suites", ("/suites", "/cases")),
    NavigationEntry("Review", "/review", ("/review",)),
    NavigationEntry("Ledger", "/ledger", ("/ledger",)),
)
