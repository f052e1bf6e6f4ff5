"""Rules for the chosen part of the cases and models, for variants, and for the models' keys."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from failproof_es.configuration.choices import (
    PROMPT,
    Matrix,
    PromptTemplate,
    SelectionSection,
    parse_pattern,
)
from failproof_es.configuration.explain import explain_value
from failproof_es.configuration.locations import Location
from failproof_es.configuration.schema import Configuration, Model
from failproof_es.configuration.variants import OWN, model_keys

Report = Callable[[str, Location, str, str | None], None]
"""Reports the error of a value: its code, its location, the message and the remedy."""


def check_selection(selection: SelectionSection, report: Report) -> None:
    """Call `report` for each invalid pattern and each contradictory setting of `selection`."""
    for name, patterns in (("only", selection.only), ("exclude", selection.exclude)):
        for at, pattern in enumerate(patterns or ()):
            if parse_pattern(pattern) is None:
                message = f"{pattern!r} does not say what it is about"
                remedy = (
                    "begin it with id:, tag: or suite:, such as tag:smoke or id:login-*, or name "
                    "the cases of a run: failed:3, errors:3, unscored:3"
                )
                report("invalid-pattern", ("selection", name, at), message, remedy)
    if selection.limit is not None and selection.sample is not None:
        message = "cannot be combined with `sample`"
        report("options-conflict", ("selection", "limit"), message, "keep one of them")
    if selection.seed is not None and selection.sample is None:
        report("no-effect", ("selection", "seed"), "has no effect without `sample`", "remove it")


def check_matrix(matrix: Matrix | None, report: Report) -> None:
    """Call `report` for each key that is no parameter, and each value that is invalid or repeated.

    `None` is a configuration without a matrix, which has no error.
    """
    for name, values in ((matrix and matrix.parameters) or {}).items():
        at: Location = ("matrix", "parameters", name)
        if name in _entry_keys() - OWN:
            message = "is a key of a model's entry and no parameter"
            report(
                "reserved-field", at, message, "list the models that differ by it under `models`"
            )
            continue
        seen = set()
        for number, value in enumerate(values):
            try:
                sent = _validators()[name].validate_python(value) if name in OWN else value
            except ValidationError as wrong:
                explanation = explain_value(wrong, name)
                report(explanation.code, (*at, number), explanation.message, explanation.remedy)
                continue
            if (comparable := _canonical_text(sent)) in seen:
                message = "is the same as a value before it, and would ask everything twice"
                remedy = "keep one of them; `execution.repetitions` asks again"
                report("duplicate-value", (*at, number), message, remedy)
            seen.add(comparable)


def _entry_keys() -> frozenset[str]:
    return frozenset(field.alias or name for name, field in Model.model_fields.items())


@cache
def _validators() -> Mapping[str, TypeAdapter[Any]]:
    """A validator of the values of each parameter in `OWN`."""

    def kind(name: str) -> TypeAdapter[Any]:
        field = Model.model_fields[name]
        of_the_entry: Any = Annotated[field.annotation, field]
        return TypeAdapter(of_the_entry, config=ConfigDict(strict=True))

    return {name: kind(name) for name in OWN}


def _canonical_text(value: Any) -> str:
    """The value as JSON text, the same for equal values: `1` for 1.0."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, sort_keys=True)


def check_keys(configuration: Configuration, report: Report) -> None:
    """Call `report` for each key of a model or judge that two entries of a list share, or that
    begins with `judge:` or a space, ends with a space or cannot be printed."""
    judge = [] if configuration.judge is None else [configuration.judge]
    entries = {"models": configuration.models, "judges": configuration.judges or [], "judge": judge}
    for name, models in entries.items():
        keys = model_keys(models)
        shared = Counter(keys)
        for at, (key, model) in enumerate(zip(keys, models, strict=True)):
            place: Location = (name, "key") if name == "judge" else (name, at, "key")
            if model.key is None:
                continue
            if shared[key] > 1:
                message = f"{key!r} is the key of another entry, too"
                report("duplicate-name", place, message, "change it")
            elif not key.isprintable() or key != key.strip() or key.startswith("judge:"):
                message = "begins with `judge:` or a space, ends with one, or cannot be printed"
                report("invalid-name", place, message, "use a plain name")


def check_templates(configuration: Configuration, report: Report) -> None:
    """Call `report` for each prompt template without `{prompt}` in `user` (or with `{{prompt}}`),
    with `{prompt}` in `system`, or of a judge."""
    for at, model in enumerate(configuration.models):
        _check_template(model.prompt_template, ("models", at, "prompt_template"), report)
    for name, template in ((configuration.matrix and configuration.matrix.prompts) or {}).items():
        _check_template(template, ("matrix", "prompts", name), report)
    judges: list[tuple[Location, Model]] = [
        (("judges", at), judge) for at, judge in enumerate(configuration.judges or ())
    ]
    if configuration.judge is not None:
        judges.append((("judge",), configuration.judge))
    for place, judge in judges:
        if judge.prompt_template is not None:
            message = "has no effect: a judge is asked what its dialect says"
            report("no-effect", (*place, "prompt_template"), message, "remove it")


def _check_template(template: PromptTemplate | None, at: Location, report: Report) -> None:
    if template is None:
        return
    remedy = f"write {PROMPT} where the text of the case belongs"
    if PROMPT not in template.user:
        message = f"does not hold {PROMPT}, so no case would be asked"
        report("missing-placeholder", (*at, "user"), message, remedy)
    elif f"{{{PROMPT}}}" in template.user:
        message = f"holds {{{PROMPT}}}: braces would be sent around the text of the case"
        report("invalid-template", (*at, "user"), message, remedy)
    if template.system is not None and PROMPT in template.system:
        message = (
            f"holds {PROMPT}, which is replaced in `user` alone and would be sent literally here"
        )
        report(
            "invalid-template", (*at, "system"), message, "move it to `user`, or write it otherwise"
        )
