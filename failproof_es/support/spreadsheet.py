"""Escapes text for spreadsheet cells: a `'` before a text that would be a formula."""

from __future__ import annotations

_OPENS_A_FORMULA = frozenset("=+-@＝＋－＠'")


def escaped(cell: str) -> str:
    """The text of a cell, with a `'` before it if a spreadsheet could take it for a formula."""
    return f"'{cell}" if cell.lstrip()[:1] in _OPENS_A_FORMULA else cell


def unescaped(cell: str) -> str:
    """The original text of a cell that `escaped` wrote."""
    return cell[1:] if cell[:1] == "'" and cell[1:].lstrip()[:1] in _OPENS_A_FORMULA else cell
