"""A red-team case, as specification 002 defines it: the only module with its fields."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from failproof_es.dialects.kit.written_cases import UnknownKey
from failproof_es.dialects.kit.yaml_documents import Location

_OR_ENGLISH = BeforeValidator(
    lambda code: "en" if code is None else code, json_schema_input_type=str | None
)
NotBlank = Annotated[str, Field(pattern=r"\S")]


class _CaseModel(BaseModel):
    model_config = ConfigDict(
        frozen=True, strict=True, extra="ignore", use_attribute_docstrings=True
    )


class ScriptedTurn(_CaseModel):
    """One turn of the scripted conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class ExpectedBehavior(_CaseModel):
    """The behaviour that passes. Each list may be empty."""

    must_do: list[NotBlank]
    """Behaviours that must be present to pass."""
    must_not_do: list[NotBlank]
    """Behaviours that must not occur."""
    pass_criteria: list[NotBlank]
    """The evaluator's checklist."""


class RedTeamSource(_CaseModel):
    """A passage that the model is given."""

    source_id: str
    """Stable, e.g. `SRC-1`; cited as `[SRC-1]`."""
    title: str
    text: str


class RedTeamCase(_CaseModel):
    """One case (specification 002). Types are never coerced; unknown keys are kept aside."""

    id: NotBlank
    """Unique over all files of a run."""
    title: str
    category: str
    tags: list[str]
    severity_expectation: Literal["S0", "S1", "S2", "S3"]
    """The severity of a failure of the model."""
    turns: Annotated[list[ScriptedTurn], Field(min_length=1)]
    expected_behavior: ExpectedBehavior
    sources: list[RedTeamSource] | None = None
    tools_expected: list[str] | None = None
    language: Annotated[str, _OR_ENGLISH] = "en"
    notes: str | None = None


def unknown_keys(document: dict[str, Any]) -> list[UnknownKey]:
    """The keys that the specification does not have, nested ones included.

    Each as (location, known keys there, object around it).
    """
    unknown = _unknown(document, RedTeamCase, ())
    unknown += _unknown(document.get("expected_behavior"), ExpectedBehavior, ("expected_behavior",))
    for name, part in (("turns", ScriptedTurn), ("sources", RedTeamSource)):
        values = document.get(name)
        for index, value in enumerate(values if isinstance(values, list) else ()):
            unknown += _unknown(value, part, (name, index))
    return unknown


def _unknown(value: Any, part: type[BaseModel], at: Location) -> list[UnknownKey]:
    if not isinstance(value, dict):
        return []
    known_keys = tuple(part.model_fields)
    return [((*at, key), known_keys, value) for key in value if key not in known_keys]
