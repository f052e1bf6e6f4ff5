"""Shell commands: specification 004, judged by real parsers. Nothing here runs a command.

The analysis of a command's text (`failproof_es.shell_analysis`) does not depend on the dialect. The
dialect is imported on first use: the gates and the projection beside it need no parsers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from failproof_es.dialects.shipped.command.dialect import Command

__all__ = ["Command"]


def __getattr__(name: str) -> Any:
    if name != "Command":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from failproof_es.dialects.shipped.command.dialect import Command

    return Command
