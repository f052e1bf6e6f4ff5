"""Loads the class of a user's own that a configuration names."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from failproof_es.models.catalog.packages import describe_class
from failproof_es.problems import InvalidInput


def load_class(named: str) -> Any:
    """`package.module:Name`, importable from the current folder, too. Raises `InvalidInput`."""
    module_name, _, name = named.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")  # as `python -m` has it: a class beside the configuration
    try:
        return getattr(importlib.import_module(module_name), name)
    except Exception as error:
        raise InvalidInput.because(
            f"class {describe_class(named)} cannot be loaded: {type(error).__name__}: {error}",
            remedy="name it as `package.module:Name`, importable from the current folder",
        ) from error
