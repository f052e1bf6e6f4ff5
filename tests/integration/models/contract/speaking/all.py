"""Every provider over HTTP: each module of this package that has `SPEAKS`."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from tests.integration.models.contract import speaking
from tests.integration.models.contract.speaking.example import Speaks

_MODULES = (
    import_module(f"{speaking.__name__}.{each.name}")
    for each in pkgutil.iter_modules(speaking.__path__)
    if each.name != "all"
)
SPOKEN: tuple[Speaks, ...] = tuple(
    module.SPEAKS for module in _MODULES if hasattr(module, "SPEAKS")
)
