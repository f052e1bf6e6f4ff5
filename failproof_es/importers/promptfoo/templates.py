"""Fills promptfoo's templates that only insert variables into a text. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from failproof_es.importers.promptfoo.assertions import plain_text

_PLACE = re.compile(r"\{\{-?[ \t\n]*([A-Za-z_]\w*(?:\.\w+)*)[ \t\n]*-?\}\}")
_ANY = re.compile(r"\{\{|\{%|\{#")


def fill(text: str, variables: Mapping[str, Any]) -> str:
    """The text with `{{name}}` replaced by the variable's value.

    Raises `ValueError` for any other template, an unknown variable, or a value that is no plain
    text.
    """
    if "{" not in text:
        return text

    def value(match: re.Match[str]) -> str:
        return _look_up_text(match[1], variables)

    if _ANY.search(_PLACE.sub("", text)):
        raise ValueError("a template has logic or filters, which are not run")
    return _PLACE.sub(value, text)


def _look_up_text(path: str, variables: Mapping[str, Any]) -> str:
    first, *rest = path.split(".")
    if first == "env":
        raise ValueError("a template names an environment variable, which is not read")
    if first not in variables:
        raise ValueError("a template names a variable that has no value")
    value = variables[first]
    for name in rest:
        value = value.get(name) if isinstance(value, Mapping) else None
    if isinstance(value, Mapping | list):
        raise ValueError("a template writes a list or an object")
    text = plain_text(value)
    if _ANY.search(text):
        raise ValueError("a variable's value is a template itself")
    return text
