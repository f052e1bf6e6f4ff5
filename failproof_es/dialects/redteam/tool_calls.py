"""Whether the model called the tools that a case expects it to call. Nothing is ever run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from failproof_es.evaluation import Reply


def check(expected: Sequence[str], replies: Sequence[Reply]) -> dict[str, Any]:
    """Expected and called tools. `evaluated` is false where none could be offered."""
    called = list(dict.fromkeys(call.name for reply in replies for call in reply.tool_calls))
    offered = any(reply.tools for reply in replies)
    found: dict[str, Any] = {"expected": list(expected), "called": called, "evaluated": offered}
    if not offered:
        return {**found, "why_not": "the provider takes no tool definitions"}
    return {
        **found,
        "missing": [name for name in expected if name not in called],
        "unexpected": [name for name in called if name not in expected],
    }
