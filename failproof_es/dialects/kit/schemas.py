"""What a pydantic model refuses, in words for the author of a case file or a configuration.

`report_defects` reports the defects of a case, `read_options` reads the `prompts.options` of a
configuration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from failproof_es.configuration.locations import Location, dotted
from failproof_es.problems import InvalidInput, Problem, Problems, schema_code, shown_value
from failproof_es.support.near_names import meant_key

Options = TypeVar("Options", bound=BaseModel)

_KINDS = {
    "string_type": "a string",
    "list_type": "a list",
    "bool_type": "true or false",
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "an object"),
}
"""The expected value, by the type of pydantic's error."""


def schema_defects(error: ValidationError, **words: str) -> Iterator[tuple[str, Location, str]]:
    """(code, location, message) for every defect that a model found.

    `words` are arguments of `problems.shown_value`.
    """
    for details in error.errors(include_url=False):
        kind = details["type"]
        empty = kind == "string_pattern_mismatch"
        code = "empty-value" if empty else schema_code(kind)
        yield code, details["loc"], describe_defect(kind, details, **words)


def describe_defect(kind: str, details: Mapping[str, Any], **words: str) -> str:
    """The defect as the predicate of a sentence about the value.

    `kind` is the type of pydantic's error and `details` the error, of which `input` is the value.
    """
    value = shown_value(details["input"], **words)  # type: ignore[arg-type]  # no number is given
    match kind:
        case "missing":
            return "the field is required and missing"
        case "extra_forbidden":
            return "is not a known field"
        case "string_too_short" | "too_short" | "string_pattern_mismatch":
            return "must not be empty"
        case "literal_error" | "enum":
            return f"must be {details['ctx']['expected']}, is {value}"
        case _ if kind in _KINDS:
            return f"must be {_KINDS[kind]}, is {value}"
        case _ if "-" in kind:  # of a validator of ours
            return str(details["msg"])
        case _:
            return f"{details['msg'][:1].lower()}{details['msg'][1:]}, is {value}"


def report_defects(error: ValidationError, problems: Problems, **place: Any) -> None:
    """Report every defect of a case. `place` are further arguments of `Problems.error`."""
    for code, location, message in schema_defects(error):
        problems.error(code, message, field=dotted(location), **place)


def read_options(
    model: type[Options],
    option_values: Mapping[str, Any],
    nested: Mapping[int, type[BaseModel]] | None = None,
) -> Options:
    """The options of a dialect, from the `prompts.options` of a configuration.

    Options that are left out have their defaults. Raises `InvalidInput` with every defect. `nested`
    are the models inside of the options, by the length of the location of one of their fields.
    """
    models: dict[int, type[BaseModel]] = {1: model, **(nested or {})}
    try:
        return model.model_validate(dict(option_values))
    except ValidationError as error:
        raise InvalidInput(
            [
                Problem(
                    code,
                    message,
                    field=dotted(("prompts", "options", *location)),
                    remedy=_remedy(code, location, models),
                )
                for code, location, message in schema_defects(error)
            ]
        ) from None


def _remedy(code: str, location: Location, models: Mapping[int, type[BaseModel]]) -> str | None:
    if code == "missing-field":
        return f"add `{location[-1]}:`"
    model = models.get(len(location))
    if code != "unknown-field" or model is None:
        return None
    return meant_key(str(location[-1]), list(model.model_fields))
