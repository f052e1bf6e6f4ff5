"""The docstrings under the fields of classes.

They are read from the source when documentation is generated, not at import.
"""

from __future__ import annotations

import ast
import inspect
import sys
from functools import cache
from typing import Any


def field_docstring(declared: type[Any], field: str) -> str | None:
    """The docstring under a field of the class `declared`, which may be inherited.

    `None` if the field has none, or if the source cannot be read.
    """
    declaring = next(cls for cls in declared.__mro__ if field in inspect.get_annotations(cls))
    return _docstrings(declaring.__module__).get(declaring.__name__, {}).get(field)


@cache
def _docstrings(module: str) -> dict[str, dict[str, str]]:
    """The docstrings of fields in a module, by the name of their class, then of the field.

    Empty if the source cannot be read.
    """
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except OSError:
        return {}
    classes = (node for node in tree.body if isinstance(node, ast.ClassDef))
    return {declared.name: _of_fields(declared) for declared in classes}


def _of_fields(declared: ast.ClassDef) -> dict[str, str]:
    docstrings = {}
    for field, following in zip(declared.body, declared.body[1:], strict=False):
        match field, following:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                docstrings[name] = inspect.cleandoc(text)
    return docstrings
