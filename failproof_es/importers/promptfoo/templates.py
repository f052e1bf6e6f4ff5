"""Fills promptfoo's templates that only insert variables into a text. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from failproof_es.importers.promptfoo.assertions import plain_text

_PLACE = re.compile(r"\{\{-?[ \t\n]*([A-Za-z_]\w*(?:\.\w+)*)[ \t\n]*-?\}\}")
_ANY = re.compile(r"\{[{%#][^{}\n]{0,100}\}{0,2}")


class TemplateError(ValueError):
    """A template is not filled in. `str` is the reason, without texts of the source.

    `expression` is the part of the template, as written, that the reason is about.
    """

    def __init__(self, reason: str, expression: str) -> None:
        super().__init__(reason)
        self.expression = expression


def fill(text: str, variables: Mapping[str, Any]) -> str:
    """The text with `{{name}}` replaced by the variable's value.

    Raises `TemplateError` for any other template, an unknown variable, or a value that is no plain
    text.
    """
    if "{" not in text:
        return text
    for _ in paths_in(text):
        pass
    return _PLACE.sub(lambda match: value_of(match[1], variables, match[0]), text)


def paths_in(text: str) -> Iterator[str]:
    """Yield the path of each variable that the text inserts: `name`, or `name.field`.

    Raises `TemplateError` for a template that does more, or names an environment variable.
    """
    for match in _PLACE.finditer(text):
        if match[1].split(".")[0] == "env":
            reason = "a template names an environment variable, which is not read"
            raise TemplateError(reason, match[0])
        yield match[1]
    if (other := _ANY.search(_PLACE.sub("", text))) is not None:
        raise TemplateError("a template has logic or filters, which are not run", other[0])


def fill_known(text: str, values: Mapping[str, str]) -> str:
    """The text with the paths in `values` replaced, and all others written as `{{path}}`."""
    return _PLACE.sub(lambda match: values.get(match[1], f"{{{{{match[1]}}}}}"), text)


def places_in(text: str) -> list[tuple[int, int]]:
    """Start and end of each `{{path}}` in the text."""
    return [match.span() for match in _PLACE.finditer(text)]


def value_of(path: str, variables: Mapping[str, Any], expression: str | None = None) -> str:
    """The text of the variable, or of the field of one, at the path.

    `expression` is the template that inserts it. Raises `TemplateError` if it has no plain text.
    """
    expression = expression or f"{{{{{path}}}}}"
    first, *rest = path.split(".")
    if first not in variables:
        raise TemplateError("a template names a variable that has no value", expression)
    value = variables[first]
    for name in rest:
        value = value.get(name) if isinstance(value, Mapping) else None
    if isinstance(value, Mapping | list):
        raise TemplateError("a template writes a list or an object", expression)
    text = plain_text(value)
    if _ANY.search(text):
        raise TemplateError("a variable's value is a template itself", expression)
    return text
