"""A stored prompt, as specification 001 § 3.1 defines it: the only module with its fields."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError

from failproof_es.problems import shown_value


class StoredPrompt(BaseModel):
    """One line of a collection. Types are never coerced; unknown keys stay in the document only.

    `source` defaults to the file's name and `created_at` to the time of recording; the other four
    fields are required (§ 10.1).
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    prompt_id: str
    content: Annotated[str, Field(min_length=1)]
    category: str
    expected_label: str
    source: str | None = None
    created_at: str | None = None

    @field_validator("prompt_id", "category", "expected_label")
    @classmethod
    def _says_something(cls, value: str) -> str:
        if not value.strip():
            raise PydanticCustomError("empty-value", "must not be empty")
        return value

    @field_validator("created_at")
    @classmethod
    def _is_iso_8601(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                datetime.fromisoformat(value)
            except ValueError:
                message = "must be an ISO-8601 timestamp, is {value}"
                shown = {"value": shown_value(value)}
                raise PydanticCustomError("invalid-value", message, shown) from None
        return value


FIELDS = tuple(StoredPrompt.model_fields)
