"""`Document`: the base of what is shown as one JSON object, by whichever surface."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


def json_name(field: str) -> str:
    """The key that a field is in JSON. A field `class_` is `class`."""
    return field.removesuffix("_")


KEYS = ConfigDict(alias_generator=json_name, validate_by_name=True, serialize_by_alias=True)
"""How fields are named in JSON. A dataclass with such a field says
`__pydantic_config__ = KEYS`."""


class Document(BaseModel):
    """A JSON object with known fields; it never changes."""

    model_config = ConfigDict(frozen=True, extra="forbid", **KEYS)
