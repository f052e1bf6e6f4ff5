"""Descriptions of configuration fields: the docstring under each field in the source.

They are read when a JSON Schema is generated, not at import: reading sources takes longer than
reading a configuration.
"""

from __future__ import annotations

import inspect
from typing import Any

from pydantic import BaseModel

from failproof_es.support.field_docstrings import field_docstring


def describe(model: type[BaseModel], schema: dict[str, Any]) -> None:
    """Add the description of each field to `schema`, the model's JSON Schema, unless it has one.

    Adds nothing if the source cannot be read, or if the field's own model has the same text.
    """
    for name, field in model.model_fields.items():
        property_schema = schema["properties"].get(
            field.alias or name, schema["properties"].get(name)
        )
        meaning = field_docstring(model, name)
        if (
            property_schema is None
            or meaning is None
            or meaning == _class_docstring(field.annotation)
        ):
            continue
        property_schema.setdefault("description", meaning)


def _class_docstring(kind: Any) -> str | None:
    """The docstring of a field's type, if that is a model; `None` for any other type."""
    return inspect.getdoc(kind) if isinstance(kind, type) and issubclass(kind, BaseModel) else None
