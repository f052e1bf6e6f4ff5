"""`prompts.options` of the dialect: the evaluator template and the decision rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from failproof_es.dialects.shipped.promptguard import decision, template
from failproof_es.dialects.shipped.promptguard.decision import Bounds, Rule
from failproof_es.problems import Problems, schema_code
from failproof_es.support.near_names import meant_key

_FIELD = "prompts.options"


class _WrittenOptions(BaseModel):
    """The options as in a configuration; `None` for those that are left out."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    template: str | None = None
    decision: list[Rule] | None = None


@dataclass(frozen=True, slots=True)
class PromptGuardOptions:
    """The template around a stored prompt, and the rules that give the answer its label."""

    template: str
    rules: tuple[Rule, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """The distinct labels that a verdict can get."""
        return tuple(dict.fromkeys(rule.label for rule in self.rules))


def shipped() -> PromptGuardOptions:
    """The default options: the shipped template and `decision.DEFAULT`."""
    return PromptGuardOptions(template.shipped(), decision.DEFAULT)


def read_options(option_values: Mapping[str, Any]) -> PromptGuardOptions:
    """The options of a configuration, with defaults for those left out.

    Raises `InvalidInput` with every defect, each with its field.
    """
    problems = Problems()
    try:
        read = _WrittenOptions.model_validate(dict(option_values))
    except ValidationError as error:
        for details in error.errors():
            message, remedy = _describe_error(details)
            code = schema_code(details["type"])
            problems.error(code, message, field=_dotted(details["loc"]), remedy=remedy)
        problems.raise_errors()
        raise
    for defect in template.defects(read.template) if read.template is not None else ():
        problems.error("invalid-template", defect, field=f"{_FIELD}.template")
    for place, defect in decision.defects(read.decision) if read.decision is not None else ():
        problems.error("invalid-rule", defect, field=f"{_FIELD}.decision{place}")
    problems.raise_errors()
    default = shipped()
    return PromptGuardOptions(
        template=default.template if read.template is None else read.template,
        rules=default.rules if read.decision is None else tuple(read.decision),
    )


def _describe_error(error: ErrorDetails) -> tuple[str, str | None]:
    location = error["loc"]
    if error["type"] == "extra_forbidden":
        return "is not a known field", meant_key(str(location[-1]), _known_at(location))
    if error["type"] == "missing":
        return "is missing", f"add `{location[-1]}:`"
    return error["msg"][:1].lower() + error["msg"][1:], None


def _known_at(location: tuple[int | str, ...]) -> list[str]:
    """The known keys of the object in which `location` has an unknown key."""
    owners: dict[int, type[BaseModel]] = {1: _WrittenOptions, 3: Rule}
    return list(owners.get(len(location), Bounds).model_fields)


def _dotted(location: tuple[int | str, ...]) -> str:
    path = _FIELD
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}"
    return path
