"""The speaker of a turn, in words: a model under test, or the script of the case."""

from __future__ import annotations

UNDER_TEST = "model under test"
_SCRIPTED = {"assistant": "scripted assistant"}


def speaker(role: str, *, scripted: bool, turn: int | None = None) -> str:
    """The speaker of a turn with this role, in words: `model under test (turn 4)`.

    `scripted`: the turn is part of the case; else the model under test gave it as the turn `turn`.
    """
    if scripted:
        return _SCRIPTED.get(role, role)
    return UNDER_TEST if turn is None else f"{UNDER_TEST} (turn {turn})"
