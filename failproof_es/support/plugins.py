"""Loads plugins that are named objects: dialects, scorers, gates.

Their entry points refer to an instance, or to a class whose constructor takes no argument. The
entry point has the `name` of the instance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def instance(offered: Any) -> Any:
    """The plugin that an entry point offers: an instance, or a new one of an offered class."""
    return offered() if isinstance(offered, type) else offered


def plugin_problem(offered: Any, name: str, members: Sequence[str]) -> str | None:
    """The defect of a plugin that is registered as `name`; `None` without one.

    It cannot be constructed, lacks one of `members`, or has another name. The text is the predicate
    of a sentence, for example "lacks judge".
    """
    try:
        one = instance(offered)
        missing = [member for member in members if not hasattr(one, member)]
    except (Exception, SystemExit) as error:  # whatever a foreign package's code may raise
        return f"can't be made: {type(error).__name__}: {error}"
    if missing:
        return f"lacks {', '.join(missing)}"
    return None if one.name == name else f"calls itself {one.name!r}"
