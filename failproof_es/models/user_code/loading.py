"""Loads the class of a user's own that a configuration names."""

from __future__ import annotations

import importlib
from typing import Any

from failproof_es.models.catalog.packages import describe_class
from failproof_es.models.user_code.finding import (
    OF_PYTHON,
    is_of_standard_library,
    search_current_folder,
    unfit,
)
from failproof_es.problems import InvalidInput


def load_class(class_name: str, method: str) -> Any:
    """`package.module:Name`, importable from the current folder, too: a class with that method.

    Raises `InvalidInput`. Importing it runs its module; nothing in it is called.
    """
    module_name, _, name = class_name.partition(":")
    if is_of_standard_library(module_name):
        raise unfit(class_name, OF_PYTHON)
    search_current_folder()
    try:
        kind = getattr(importlib.import_module(module_name), name)
    except Exception as error:
        raise InvalidInput.because(
            f"class {describe_class(class_name)} cannot be loaded: {type(error).__name__}: {error}",
            remedy="name it as `package.module:Name`, importable from the current folder",
        ) from error
    if not isinstance(kind, type):
        raise unfit(class_name, f"is a {type(kind).__name__}, and not a class")
    if is_of_standard_library(kind.__module__):
        raise unfit(class_name, OF_PYTHON)
    if not callable(getattr(kind, method, None)):
        raise unfit(class_name, f"has no method `{method}`")
    return kind
