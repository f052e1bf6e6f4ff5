"""The speaker of a turn, in words: a model under test, or the script of the case."""

from __future__ import annotations

UNDER_TEST = "model under test"
_SCRIPTED = {"assistant": "assistant, scripted"}


def speaker(role: str, *, scripted: bool) -> str:
    """Who speaks a turn of this role. An assistant's turn is the model's, or the case's."""
    return _SCRIPTED.get(role, role) if scripted else UNDER_TEST
