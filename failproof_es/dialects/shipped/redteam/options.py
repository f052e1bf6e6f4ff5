"""`prompts.options` of the dialect: templates, and findings that fail a case by themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from failproof_es.dialects.kit import schemas
from failproof_es.dialects.kit.judging import prompt
from failproof_es.dialects.kit.templates import report_defects
from failproof_es.dialects.shipped.redteam import source_block
from failproof_es.problems import Problems

Finding = Literal["empty", "unknown_source", "false_quotation", "wrong_language", "missing_tool"]
"""Findings of the deterministic checks that may fail a case."""


class RedTeamOptions(BaseModel):
    """The template and grading of a case. The defaults are the shipped templates."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    sources_template: str | None = None
    """Template of the block with the sources: `{{sources}}`, `{{delimiter}}`, `{{first_id}}`."""
    source_template: str | None = None
    """Template of one source: `{{source_id}}`, `{{title}}`, `{{text}}`, `{{delimiter}}`."""
    judge_template: str | None = None
    """Template of the question to a judge; placeholders: `judging.prompt.NAMES`."""
    fails_by: tuple[Finding, ...] = ("empty",)
    """The findings that fail a case, whatever judges say."""


_PLACEHOLDERS: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    "sources_template": (("sources",), source_block.BLOCK_NAMES),
    "source_template": (("source_id", "text", "delimiter"), source_block.SOURCE_NAMES),
    "judge_template": (prompt.REQUIRED, prompt.NAMES),
}
"""For each template the required and the optional placeholders."""


def read_options(option_values: Mapping[str, Any]) -> RedTeamOptions:
    """The dialect's options from the `prompts.options` of a configuration.

    Options that are left out have their defaults. Raises `InvalidInput` with every defect.
    """
    readable = {**option_values}
    if isinstance(option_values.get("fails_by"), list):
        readable["fails_by"] = tuple(option_values["fails_by"])
    options = schemas.read_options(RedTeamOptions, readable)
    problems = Problems()
    report_defects(options, _PLACEHOLDERS, problems)
    problems.raise_errors()
    return options
