"""The words of the main navigation, in order. A page that begins a path of its own adds one."""

from __future__ import annotations

from typing import NamedTuple


class NavigationEntry(NamedTuple):
    """A link that stands on every page."""

    word: str
    path: str


NAVIGATION = (
    NavigationEntry("Runs", "/runs"),
    NavigationEntry("Compare", "/compare"),
    NavigationEntry("Suites", "/suites"),
    NavigationEntry("Review", "/review"),
    NavigationEntry("Ledger", "/ledger"),
)
