"""`prompts.options` of the dialect: the templates of what is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from failproof_es.dialects.benchmark.prompts import GENERATION_NAMES, JUDGE_NAMES
from failproof_es.dialects.templates import defects
from failproof_es.problems import Problems

_FIELD = "prompts.options"
_PLACEHOLDERS: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    "generation_template": (GENERATION_NAMES, ()),
    "judge_template": (JUDGE_NAMES[-2:], JUDGE_NAMES),
}
"""What each template must hold, and what it may."""


class Options(BaseModel):
    """How a task is asked and graded. What is left out is as shipped."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    generation_template: str | None = None
    """What the model under test is asked: `{{question}}`."""
    judge_template: str | None = None
    """What a judge is asked: `prompts.JUDGE_NAMES` says what it may hold."""


def read_options(written: Mapping[str, Any]) -> Options:
    """The options as a configuration gives them. Raises `InvalidInput` with every defect."""
    problems = Problems()
    try:
        options = Options.model_validate(dict(written))
    except ValidationError as error:
        for each in error.errors():
            name = str(each["loc"][0])
            message, remedy = each["msg"][:1].lower() + each["msg"][1:], None
            if each["type"] == "extra_forbidden":
                message, remedy = "is not a known key", _hint(name)
            problems.error(message, field=f"{_FIELD}.{name}", remedy=remedy)
        problems.raise_errors()
        raise
    for name, (required, optional) in _PLACEHOLDERS.items():
        template = getattr(options, name)
        for defect in () if template is None else defects(template, required, optional):
            problems.error(defect, field=f"{_FIELD}.{name}")
    problems.raise_errors()
    return options


def _hint(name: str) -> str:
    known = list(Options.model_fields)
    close = get_close_matches(name, known, n=1)
    return f"did you mean `{close[0]}`?" if close else f"known here: {', '.join(known)}"
