"""`Document`: the base of everything that is shown as one JSON object."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


def json_name(field: str) -> str:
    """The JSON key of a field. A field `class_` is `class`."""
    return field.removesuffix("_")


KEYS = ConfigDict(alias_generator=json_name, validate_by_name=True, serialize_by_alias=True)
"""The names of fields in JSON. A dataclass with a field such as `class_` sets
`__pydantic_config__ = KEYS`.
"""


class Document(BaseModel):
    """The base of an immutable JSON object; unknown fields are an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", **KEYS)
