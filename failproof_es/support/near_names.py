"""The known name that a name is probably meant to be, in the words of a remedy."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """`did you mean 'NAME'? `, which a further remedy follows; empty if nothing resembles it."""
    near = get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}? " if near else ""


def meant_key(key: str, known: Sequence[str]) -> str:
    """The remedy for an unknown key: the known one that resembles it, else all known keys."""
    near = get_close_matches(key, known, n=1)
    return f"did you mean `{near[0]}`?" if near else f"known here: {', '.join(known)}"
