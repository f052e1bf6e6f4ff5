"""The speaker of a turn, in words: a model under test, or the script of the case."""

from __future__ import annotations

UNDER_TEST = "model under test"
_SCRIPTED = {"assistant": "assistant, scripted"}


def speaker(role: str, *, scripted: bool) -> str:
    """The speaker of a turn with this role, in words.

    `scripted`: the turn is part of the case; else the model under test gave it.
    """
    return _SCRIPTED.get(role, role) if scripted else UNDER_TEST
