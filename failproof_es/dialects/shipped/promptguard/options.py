"""`prompts.options` of the dialect: the evaluator template and the decision rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from failproof_es.dialects.kit import schemas
from failproof_es.dialects.shipped.promptguard import decision, template
from failproof_es.dialects.shipped.promptguard.decision import Bounds, Rule
from failproof_es.problems import Problems

_FIELD = "prompts.options"


class PromptGuardOptions(BaseModel):
    """The template around a stored prompt, and the rules that give the answer its label."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    template: str = Field(default_factory=template.shipped)
    decision: list[Rule] = list(decision.DEFAULT)

    @property
    def labels(self) -> tuple[str, ...]:
        """The distinct labels that a verdict can get."""
        return tuple(dict.fromkeys(rule.label for rule in self.decision))


def read_options(option_values: Mapping[str, Any]) -> PromptGuardOptions:
    """The options of a configuration, with defaults for those left out or null.

    Raises `InvalidInput` with every defect, each with its field.
    """
    fields = PromptGuardOptions.model_fields
    stated = {
        name: value
        for name, value in option_values.items()
        if value is not None or name not in fields
    }
    options = schemas.read_options(PromptGuardOptions, stated, {3: Rule, 4: Bounds})
    problems = Problems()
    for defect in template.defects(options.template):
        problems.error("invalid-template", defect, field=f"{_FIELD}.template")
    for place, defect in decision.defects(options.decision):
        problems.error("invalid-rule", defect, field=f"{_FIELD}.decision{place}")
    problems.raise_errors()
    return options
