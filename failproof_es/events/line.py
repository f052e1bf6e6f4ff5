"""Formats an event as one line, by the format of its class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from failproof_es.events import AUDITED, EVENTS

_PLACE = ("path", "line", "field")
"""Where a defect stands, as far as it is known: `place`, in one."""


class _Fields(dict[str, Any]):
    """What is not there says nothing."""

    def __missing__(self, _: str) -> str:
        return ""


def line_of(event: str, payload: Mapping[str, Any]) -> str:
    """The most telling of an event, told by its payload, which may lack fields of today.

    `event` is its topic, or its name in the audit trail. Empty where there is nothing to say, or
    where the payload is not what an engine wrote. Not yet safe to show, and of any length.
    """
    kind = EVENTS.get(event) or AUDITED.get(event)
    if kind is None:
        return ""
    try:
        fields = _Fields({name: _told(value) for name, value in payload.items()})
        fields["place"] = ":".join(str(fields[name]) for name in _PLACE if fields[name])
        if isinstance(models := payload.get("models"), list):
            fields["priced"] = "; ".join(
                f"{each['model_key']} by {each['source'] or 'nobody'}"
                for each in models
                if "model_key" in each
            )
        told = kind.says.format_map(fields)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return ""
    return " ".join(told.split()).rstrip(":")


def _told(value: Any) -> Any:
    match value:
        case None:
            return ""
        case dict():
            return _Values(value)
        case bool():
            return "yes" if value else "no"
        case list():
            return "; ".join(map(str, value))
        case _:
            return value


class _Values(_Fields):
    """A value that has fields of its own: as a whole it is told name by name."""

    def __str__(self) -> str:
        return ", ".join(f"{name} {_told(value)}" for name, value in self.items())

    def __format__(self, _: str) -> str:
        return str(self)
