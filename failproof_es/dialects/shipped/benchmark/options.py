"""`prompts.options` of the dialect: templates, and the keys of a task that are sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from failproof_es.dialects.kit import schemas
from failproof_es.dialects.kit.templates import report_defects
from failproof_es.dialects.shipped.benchmark.prompts import GENERATION_NAMES, JUDGE_NAMES
from failproof_es.dialects.shipped.benchmark.task import FIELDS, INPUT_KEYS
from failproof_es.problems import Problems

_FIELD = "prompts.options"
_PLACEHOLDERS: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    "generation_template": (GENERATION_NAMES, ()),
    "judge_template": (JUDGE_NAMES[-2:], JUDGE_NAMES),
}
"""For each template the required and the optional placeholders."""


class BenchmarkOptions(BaseModel):
    """The template and grading of a task. The defaults are the shipped templates and keys."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    generation_template: str | None = None
    """Template of the request to the model under test; placeholder: `{{question}}`."""
    judge_template: str | None = None
    """Template of the request to a judge; placeholders: `prompts.JUDGE_NAMES`."""
    input_keys: list[str] = list(INPUT_KEYS)
    """The keys of a task that are appended to its question, in this order."""
    unsent_keys: list[str] = []
    """Keys of a task whose texts no model must see."""


def read_options(option_values: Mapping[str, Any]) -> BenchmarkOptions:
    """The dialect's options from the `prompts.options` of a configuration.

    Options that are left out have their defaults. Raises `InvalidInput` with every defect.
    """
    options = schemas.read_options(BenchmarkOptions, option_values)
    problems = Problems()
    report_defects(options, _PLACEHOLDERS, problems)
    _check_keys(options, problems)
    problems.raise_errors()
    return options


def _check_keys(options: BenchmarkOptions, problems: Problems) -> None:
    """Report every task key that is reserved or named twice in the options."""
    occurrences = Counter((*options.input_keys, *options.unsent_keys))
    for option in ("input_keys", "unsent_keys"):
        field = f"prompts.options.{option}"
        for key in dict.fromkeys(getattr(options, option)):
            if key in FIELDS:
                message = f"uses the reserved name `{key}`"
                problems.error("reserved-field", message, field=field, remedy="remove it")
            elif occurrences[key] > 1:
                message = f"names `{key}`, which is named twice"
                problems.error("duplicate-name", message, field=field, remedy="remove it")
