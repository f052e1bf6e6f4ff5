"""The pages, one module each. A module that has a `PAGE` is found by its being here."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from typing import Any

from failproof_es.console.page import Page


@cache
def all_pages() -> tuple[Page[Any, Any], ...]:
    """Every page, by the name of its module."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    modules = (import_module(f"{__name__}.{name}") for name in names)
    return tuple(module.PAGE for module in modules if hasattr(module, "PAGE"))
