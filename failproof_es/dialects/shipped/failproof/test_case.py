"""TestCase, as specification 000 § 1 defines it: the only module that knows its fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from failproof_es.problems import schema_code, shown_value


class EarlierMessage(BaseModel):
    """A message before the prompt in the conversation."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    role: Literal["system", "user", "assistant"]
    content: str


class FailproofCase(BaseModel):
    """One line of a suite. Types are never coerced; unknown keys stay in the case's document only.

    The fields are the schema's, `earlier_messages`, because other tools ask prompts at the end of a
    conversation, and `severity_expectation`. An empty string is a string.
    """

    __test__ = False  # not a test class, whatever pytest thinks of the name
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    case_id: str
    suite_id: str
    prompt: str
    prompt_vars: dict[str, str] = Field(default_factory=dict)  # a default would be copied deeply
    expected_response: str = ""
    expected_classification: Literal["pass", "fail", "refusal"] = "pass"
    """`refusal`, which is not in the schema: the right answer refuses."""
    tags: list[str] = Field(default_factory=list)
    earlier_messages: list[EarlierMessage] = Field(default_factory=list)
    """Messages that are sent unaltered before the prompt, without variables. Not in the schema."""
    severity_expectation: Literal["S0", "S1", "S2", "S3"] | None = None
    """The severity of a failure of the model, as in specification 002. Not in the schema."""


FIELDS = tuple(FailproofCase.model_fields)


def defects(error: ValidationError) -> list[tuple[str, str, str]]:
    """(code, field, message) for every defect, in the words of the specification."""
    return [
        (
            schema_code(details["type"]),
            _dotted(details["loc"]),
            _describe_defect(details["type"], details["input"], details.get("ctx", {})),
        )
        for details in error.errors()
    ]


def _dotted(location: tuple[int | str, ...]) -> str:
    path = ""
    for part in location:
        if part == "[key]":
            continue
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    return path


def _describe_defect(kind: str, value: Any, context: Mapping[str, Any]) -> str:
    match kind:
        case "missing":
            return "the field is required and missing"
        case "literal_error":
            return f"must be {context['expected']}, is {shown_value(value)}"
        case "string_type":
            return f"must be a string, is {shown_value(value)}"
        case "dict_type":
            return f"must be an object whose values are strings, is {shown_value(value)}"
        case "list_type":
            return f"must be a list of strings, is {shown_value(value)}"
        case "model_type" | "model_attributes_type":
            return f"must be an object with `role` and `content`, is {shown_value(value)}"
        case "extra_forbidden":
            return "is not a known field of a message"
        case _:
            return f"is not what specification 000 § 1 asks for: {shown_value(value)}"
