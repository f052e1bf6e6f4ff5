"""Locations of values in nested objects and lists, also as text."""

from __future__ import annotations

import re

Location = tuple[str | int, ...]

_STEP = re.compile(r"\.?([^.\[\]=\s]+)|\[(\d{1,6})\]")


def dotted(location: Location) -> str:
    """A location as text: `models[0].base_url`."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def located(text: str) -> Location:
    """The location that `dotted` writes as `text`; empty if `text` is no location."""
    location, is_whole = _read_steps(text)
    return location if is_whole else ()


def nearest_location(text: str) -> Location:
    """The location of the field `text`, or of the value around it if its last steps are any text,
    such as the name of a suite."""
    return _read_steps(text)[0]


def _read_steps(text: str) -> tuple[Location, bool]:
    """The location that the text begins with, and whether it is all of the text."""
    location: list[str | int] = []
    position = 0
    while position < len(text):
        step = _STEP.match(text, position)
        if step is None or (not location and step[0][0] in ".["):
            return tuple(location), False
        location.append(step[1] if step[2] is None else int(step[2]))
        position = step.end()
    return tuple(location), True
