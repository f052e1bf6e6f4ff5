"""Descriptions of configuration fields: the docstring under each field in the source.

They are read when a JSON Schema is generated, not at import: a run does not need them,
and reading sources takes longer than reading a configuration.
"""

from __future__ import annotations

import ast
import inspect
import sys
from functools import cache
from typing import Any

from pydantic import BaseModel


def describe(model: type[BaseModel], schema: dict[str, Any]) -> None:
    """Add the description of each field to the model's JSON Schema, unless it has one.

    Adds nothing if the source cannot be read, or if the field's own model has the same text.
    """
    for name, field in model.model_fields.items():
        shown = schema["properties"].get(field.alias or name, schema["properties"].get(name))
        meaning = _meaning(model, name)
        if shown is None or meaning is None or meaning == _said_of(field.annotation):
            continue
        shown.setdefault("description", meaning)


def _said_of(kind: Any) -> str | None:
    """The docstring of the model that is a field's type."""
    return inspect.getdoc(kind) if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def _meaning(model: type[BaseModel], field: str) -> str | None:
    """The docstring under the field, in the class that declares it."""
    declaring = next(each for each in model.__mro__ if field in inspect.get_annotations(each))
    return _texts(declaring.__module__).get(declaring.__name__, {}).get(field)


@cache
def _texts(module: str) -> dict[str, dict[str, str]]:
    """The docstrings of a module's fields, by class and field."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except OSError:
        return {}
    return {each.name: _under(each) for each in tree.body if isinstance(each, ast.ClassDef)}


def _under(declared: ast.ClassDef) -> dict[str, str]:
    texts = {}
    for field, after in zip(declared.body, declared.body[1:], strict=False):
        match field, after:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                texts[name] = inspect.cleandoc(text)
    return texts
