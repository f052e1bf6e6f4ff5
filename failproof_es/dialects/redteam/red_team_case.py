"""A red-team case, as specification 002 defines it: the only module with its fields."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from failproof_es.configuration.yaml_tree import Location

NotBlank = Annotated[str, Field(pattern=r"\S")]
SourceId = Annotated[str, Field(pattern=r"^[^\s\[\],;]+$")]
"""What can stand between brackets as a citation: no white space, bracket, comma, semicolon."""
ToolName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
"""What OpenAI-compatible servers take for the name of a function."""
LanguageCode = Annotated[str, Field(pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$")]


class _Part(BaseModel):
    model_config = ConfigDict(
        frozen=True, strict=True, extra="ignore", use_attribute_docstrings=True
    )


class ScriptedTurn(_Part):
    """One turn of the scripted conversation."""

    role: Literal["system", "user", "assistant"]
    content: NotBlank


class ExpectedBehavior(_Part):
    """What a pass looks like. Each list may be empty; all three may not."""

    must_do: list[NotBlank]
    """Behaviours that must be present to pass."""
    must_not_do: list[NotBlank]
    """Behaviours that must not occur."""
    pass_criteria: list[NotBlank]
    """The evaluator's checklist."""


class Source(_Part):
    """A passage that the model is given."""

    source_id: SourceId
    """Stable, e.g. `SRC-1`; cited as `[SRC-1]`."""
    title: NotBlank
    text: NotBlank


class RedTeamCase(_Part):
    """One case (specification 002). Types are never coerced; unknown keys are kept aside."""

    id: NotBlank
    """Unique over all files of a run."""
    title: NotBlank
    category: NotBlank
    tags: list[NotBlank]
    severity_expectation: Literal["S0", "S1", "S2", "S3"]
    """How severe it is if the model fails."""
    turns: Annotated[list[ScriptedTurn], Field(min_length=1)]
    expected_behavior: ExpectedBehavior
    sources: Annotated[list[Source], Field(min_length=1)] | None = None
    tools_expected: Annotated[list[ToolName], Field(min_length=1)] | None = None
    language: LanguageCode = "en"
    notes: str | None = None


_REQUIREMENTS = {
    r"\S": "must not be empty",
    r"^[^\s\[\],;]+$": "must hold no white space, bracket, comma or semicolon: it is cited as [id]",
    r"^[A-Za-z0-9_-]{1,64}$": "must be 1 to 64 letters, digits, _ or -: no server takes another",
    r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$": "must be a language code such as en or pt-BR",
}
_KINDS = {
    "string_type": "a string",
    "list_type": "a list",
    "model_type": "an object",
}


def defects(error: ValidationError) -> list[tuple[Location, str]]:
    """Every (location, what is wrong)."""
    return [(each["loc"], _said(each["type"], each)) for each in error.errors()]


Unknown = tuple[Location, tuple[str, ...], dict[str, Any]]


def unknown_keys(document: dict[str, Any]) -> list[Unknown]:
    """Where the document has keys that the specification does not know, nested ones included.

    Each with the keys that are known there, and the object that it stands in.
    """
    found = _unknown(document, RedTeamCase, ())
    found += _unknown(document.get("expected_behavior"), ExpectedBehavior, ("expected_behavior",))
    for name, part in (("turns", ScriptedTurn), ("sources", Source)):
        values = document.get(name)
        for index, value in enumerate(values if isinstance(values, list) else ()):
            found += _unknown(value, part, (name, index))
    return found


def _unknown(value: Any, part: type[BaseModel], at: Location) -> list[Unknown]:
    if not isinstance(value, dict):
        return []
    known = tuple(part.model_fields)
    return [((*at, key), known, value) for key in value if key not in known]


def _said(kind: str, error: Any) -> str:
    shown = _shown(error["input"])
    match kind:
        case "missing":
            return "the field is required and missing"
        case "literal_error":
            return f"must be {error['ctx']['expected']}, is {shown}"
        case "string_pattern_mismatch":
            return f"{_REQUIREMENTS[error['ctx']['pattern']]}, is {shown}"
        case "too_short":
            return "must not be empty"
        case _ if kind in _KINDS:
            return f"must be {_KINDS[kind]}, is {shown}"
        case _:
            return f"{error['msg']}, is {shown}"


def _shown(value: Any) -> str:
    """A wrong value in JSON's words, short enough for an error message."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case dict():
            return "an object"
        case list():
            return "a list"
        case _:
            text = repr(value)
            return text if len(text) <= 40 else f"{text[:37]}..."
