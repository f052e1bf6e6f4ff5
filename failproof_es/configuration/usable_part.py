"""Finds the part of a configuration that its schema accepts, so that its rules are checked, too.

Without it, the problems that follow from several values would be reported only after those of
single values were mended: two rounds for one file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from failproof_es.configuration.explain import written_location
from failproof_es.configuration.locations import Location
from failproof_es.configuration.schema import Configuration

_SECTIONS: dict[str, Any] = {
    "test_run": {"name": "stand-in"},
    "models": [{"provider": "local", "model": "stand-in"}],
    "prompts": {"path": "stand-in.jsonl"},
}
"""In place of the sections that are required."""
_NAMING = ((), ("provider",), ("model",), ("key",))
"""The part of a model's place that decides its name: the whole entry, or one of these keys."""
_MOST_ROUNDS = 10


@dataclass(frozen=True, slots=True)
class UsablePart:
    """A configuration, and the places in its file where something else stands than in it."""

    configuration: Configuration
    left_out: tuple[Location, ...]

    @property
    def counts_variants(self) -> bool:
        """Whether the part has the file's matrix, and as many models as the file."""
        return not any(place[0] == "matrix" or place == ("models",) for place in self.left_out)

    @property
    def names_models(self) -> bool:
        """Whether the part has the file's matrix, and its models under their own names."""
        return not any(
            place[0] == "matrix" or (place[0] == "models" and place[2:3] in _NAMING)
            for place in self.left_out
        )


def usable_part(
    value: dict[str, Any],
    report: Callable[[ValidationError, dict[str, Any], tuple[Location, ...]], None],
) -> UsablePart | None:
    """The part of a configuration's values that the schema accepts, with stand-ins for the required
    ones; `None` if no such part is found.

    Calls `report` with each error, the values that it is about, and the places left out before: a
    wrong value may hide another.
    """
    part, left_out = deepcopy(value), list[Location]()
    for _ in range(_MOST_ROUNDS):
        try:
            return UsablePart(Configuration.model_validate(part), tuple(left_out))
        except ValidationError as error:
            report(error, part, tuple(left_out))
            places = [_leave_out(part, _place_of(detail, part)) for detail in error.errors()]
        if not any(places):
            return None
        left_out += filter(None, places)
    return None


def is_about(field: str | None, places: Iterable[str]) -> bool:
    """Whether a problem of this field may follow from a value at one of the places.

    `None` is no field.
    """
    return field is not None and any(
        is_within(field, place) or is_within(place, field) for place in places
    )


def _place_of(detail: Any, value: Any) -> Location:
    """The location of an invalid value in `value`, or of the container of a missing one.

    `detail` is one of pydantic's errors.
    """
    location = written_location(detail, value)
    if location == ("test_run", "name"):
        return location
    return location[:-1] if detail["type"] == "missing" and location[1:] else location


def _leave_out(part: dict[str, Any], location: Location) -> Location | None:
    """Remove or replace the value at a location of `part`, or else a container of it.

    Returns the location that was changed; `None` if nothing could be. Elements of a list are never
    removed, so that the locations of the others stay valid.
    """
    while location:
        holder, key = _value_at(part, location[:-1]), location[-1]
        stand_in = _stand_in(location)
        if stand_in is not None and isinstance(holder, dict | list):
            if _value_at(holder, (key,)) == stand_in:
                return None
            holder[key] = stand_in  # type: ignore[index]  # an index of a list, a key of a mapping
            return location
        if isinstance(holder, dict):
            return location if holder.pop(key, location) is not location else None
        location = location[:-1]
    return None


def _stand_in(location: Location) -> Any:
    """The replacement of a required value; `None` if the value is not required."""
    match location:
        case ("test_run", "name"):
            return "stand-in"
        case ("models", int(number)):
            return {"provider": "local", "model": f"stand-in-{number}"}
        case (str(key),):
            return deepcopy(_SECTIONS.get(key))
    return None


def _value_at(value: Any, location: Sequence[str | int]) -> Any:
    for step in location:
        try:
            value = value[step]
        except (LookupError, TypeError):
            return None
    return value


def is_within(field: str, place: str) -> bool:
    """Whether a field is the place, or in it."""
    return field == place or field.startswith((f"{place}.", f"{place}["))
