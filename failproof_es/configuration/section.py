"""The base of every section of the configuration."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler
from pydantic_core import CoreSchema


class Section(BaseModel):
    """A part of the configuration: unknown keys are errors, values are never coerced."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        populate_by_name=True,
    )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """The JSON Schema with a description of each key: the string below its field."""
        from failproof_es.configuration.meanings import describe  # slow, and not needed by a run

        schema = handler(core_schema)
        describe(cls, handler.resolve_ref_schema(schema))
        return schema
