"""TestCase, as specification 000 § 1 defines it: the only module that knows its fields."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError


class TestCase(BaseModel):
    """One line of a suite. Types are never coerced; unknown keys are kept aside.

    Exactly the schema and nothing more: an empty string is a string.
    """

    __test__ = False  # not a test class, whatever pytest thinks of the name
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    case_id: str
    suite_id: str
    prompt: str
    prompt_vars: dict[str, str] = Field(default_factory=dict)  # a default would be copied deeply
    expected_response: str = ""
    expected_classification: Literal["pass", "fail"] = "pass"
    tags: list[str] = Field(default_factory=list)


FIELDS = tuple(TestCase.model_fields)


def defects(error: ValidationError) -> list[tuple[str, str]]:
    """Every (field, what is wrong), in the words of the specification."""
    return [(_dotted(each["loc"]), _said(each["type"], each["input"])) for each in error.errors()]


def _dotted(location: tuple[int | str, ...]) -> str:
    path = ""
    for part in location:
        if part == "[key]":
            continue
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    return path


def _said(kind: str, value: Any) -> str:
    match kind:
        case "missing":
            return "the field is required and missing"
        case "literal_error":
            return f"must be 'pass' or 'fail', is {_shown(value)}"
        case "string_type":
            return f"must be a string, is {_shown(value)}"
        case "dict_type":
            return f"must be an object whose values are strings, is {_shown(value)}"
        case "list_type":
            return f"must be a list of strings, is {_shown(value)}"
        case _:
            return f"is not what specification 000 § 1 asks for: {_shown(value)}"


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
