"""Checks whether the model called the tools that a case expects. No tool is ever run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from failproof_es.core.evaluation import ModelReply

_FUNCTION = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Names of functions that OpenAI's and Anthropic's servers accept."""


def can_be_offered(name: str) -> bool:
    """Whether servers accept the name of a tool: 1 to 64 letters, digits, `_` or `-`."""
    return _FUNCTION.fullmatch(name) is not None


def offered(expected: Sequence[str]) -> tuple[str, ...]:
    """The distinct names of expected tools that can be offered to the model."""
    return tuple(dict.fromkeys(filter(can_be_offered, expected)))


def check(expected: Sequence[str], replies: Sequence[ModelReply]) -> dict[str, Any]:
    """The expected and the called tools; `missing` and `unexpected` ones if tools were offered.

    `evaluated` is false if no reply was asked for with tools; `why_not` is then the reason. A tool
    whose name no server accepts was never offered: it is `not_offered`, not missing.
    """
    called = list(dict.fromkeys(call.name for reply in replies for call in reply.tool_calls))
    had = any(reply.tools for reply in replies)
    outcome: dict[str, Any] = {"expected": list(expected), "called": called, "evaluated": had}
    nameless = [name for name in dict.fromkeys(expected) if not can_be_offered(name)]
    if nameless:
        outcome["not_offered"] = nameless
    if not had:
        every = len(nameless) == len(set(expected))
        takes = "no server takes the name" if every else "the provider takes no tool definitions"
        return {**outcome, "why_not": takes}
    offered_tools = offered(expected)
    return {
        **outcome,
        "missing": [name for name in offered_tools if name not in called],
        "unexpected": [name for name in called if name not in expected],
    }
