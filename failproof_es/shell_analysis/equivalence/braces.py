"""Brace expansion as in bash: the only expansion that needs neither values nor files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from failproof_es.shell_analysis.equivalence.words import Active, Expansion, Inert
from failproof_es.shell_analysis.parse.syntax import closing_brace

_MOST_WORDS = 256
_SEQUENCE = re.compile(r"(-?[0-9]+|[a-zA-Z])\.\.(-?[0-9]+|[a-zA-Z])(?:\.\.(-?[0-9]+))?")


@dataclass(frozen=True, slots=True)
class Unquoted:
    """One unquoted character, not yet interpreted."""

    character: str


Piece = Unquoted | Inert | Active | Expansion


def expand_braces(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """The words, as pieces, to which a word with `{a,b}` or `{1..3}` expands; other braces stay.

    An expansion to more than 256 words stays as written, marked as active.
    """
    for start, piece in enumerate(pieces):
        if piece != Unquoted("{"):
            continue
        end, commas = closing_brace(pieces, start, *map(Unquoted, "{,}"))
        if end is None:
            continue
        alternatives = _alternatives(pieces, start, end, commas)
        if alternatives is None:
            continue
        head, tails = list(pieces[:start]), expand_braces(pieces[end + 1 :])
        middles = [expansion for part in alternatives for expansion in expand_braces(part)]
        if not middles or len(middles) * len(tails) > _MOST_WORDS:
            middles = [_mark_active(pieces[start : end + 1])]
        if len(tails) > _MOST_WORDS:
            tails = [_mark_active(pieces[end + 1 :])]
        return [head + middle + tail for middle in middles for tail in tails]
    return [list(pieces)]


def _mark_active(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces with unquoted characters as `Active`: an expansion that is left to the shell."""
    return [Active(piece.character) if isinstance(piece, Unquoted) else piece for piece in pieces]


def _alternatives(
    pieces: Sequence[Piece], start: int, end: int, commas: list[int]
) -> list[list[Piece]] | None:
    if commas:
        edges = [start, *commas, end]
        return [list(pieces[a + 1 : b]) for a, b in pairwise(edges)]
    inside = pieces[start + 1 : end]
    text = "".join(piece.character if isinstance(piece, Unquoted) else "\0" for piece in inside)
    match = _SEQUENCE.fullmatch(text)
    return [[Inert(member)] for member in _expand_sequence(match)] if match else None


def _expand_sequence(match: re.Match[str]) -> list[str]:
    """The members of a sequence such as `1..3`; empty if it is left to the shell."""
    first, last, step = match[1], match[2], abs(int(match[3] or 1)) or 1
    numeric = first.lstrip("-").isdigit()
    if numeric != last.lstrip("-").isdigit() or _is_padded(first) or _is_padded(last):
        return []
    if max(map(len, (first, last, match[3] or ""))) > 6:
        return []
    low, high = (int(first), int(last)) if numeric else (ord(first), ord(last))
    if abs(high - low) // step >= _MOST_WORDS or (
        not numeric and first.isupper() != last.isupper()
    ):
        return []
    numbers = range(low, high + 1, step) if low <= high else range(low, high - 1, -step)
    return [str(number) if numeric else chr(number) for number in numbers]


def _is_padded(text: str) -> bool:
    digits = text.lstrip("-")
    return len(digits) > 1 and digits.startswith("0")
