"""Escapes text for spreadsheet cells: a quote before what would be a formula."""

from __future__ import annotations

_OPENS_A_FORMULA = frozenset("=+-@＝＋－＠'")


def escaped(cell: str) -> str:
    """The cell as no spreadsheet takes it for a formula; `unescaped` gives it back."""
    return f"'{cell}" if cell.lstrip()[:1] in _OPENS_A_FORMULA else cell


def unescaped(cell: str) -> str:
    """The cell as it was before `escaped`."""
    return cell[1:] if cell[:1] == "'" and cell[1:].lstrip()[:1] in _OPENS_A_FORMULA else cell
