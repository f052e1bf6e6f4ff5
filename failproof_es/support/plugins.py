"""Loads plugins that are named objects: dialects, scorers, gates.

An entry point of theirs points to an instance, or to a class that takes no argument; its name is
the `name` of what it points to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def instance(offered: Any) -> Any:
    """What is offered: itself, or one of the class that is offered."""
    return offered() if isinstance(offered, type) else offered


def plugin_problem(offered: Any, name: str, members: Sequence[str]) -> str | None:
    """What is wrong with what is offered by that name, or `None`: what it lacks, another name."""
    try:
        one = instance(offered)
        missing = [member for member in members if not hasattr(one, member)]
    except (Exception, SystemExit) as error:  # whatever a foreign package's code may raise
        return f"can't be made: {type(error).__name__}: {error}"
    if missing:
        return f"lacks {', '.join(missing)}"
    return None if one.name == name else f"calls itself {one.name!r}"
