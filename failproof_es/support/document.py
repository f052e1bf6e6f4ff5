"""`Document`: the base of everything that is shown as one JSON object."""

from __future__ import annotations

from typing import Any, Self

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

    @classmethod
    def copy_of(cls, *sources: object, **fields: Any) -> Self:
        """The document with these fields, each other one copied from the attribute of its name.

        The first source that has such an attribute counts; a field that none has keeps its default.
        """
        for source in sources:
            missing = cls.model_fields.keys() - fields
            fields |= {name: getattr(source, name) for name in missing if hasattr(source, name)}
        return cls(**fields)
