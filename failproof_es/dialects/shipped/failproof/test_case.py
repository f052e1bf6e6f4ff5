"""TestCase, as specification 000 § 1 defines it: the only module that knows its fields."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from failproof_es.core.case import Turn


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
    earlier_messages: list[Turn] = Field(default_factory=list)
    """Messages that are sent unaltered before the prompt, without variables. Not in the schema."""
    severity_expectation: Literal["S0", "S1", "S2", "S3"] | None = None
    """The severity of a failure of the model, as in specification 002. Not in the schema."""


FIELDS = tuple(FailproofCase.model_fields)
