"""Loads the class of a user's own that a configuration names."""

from __future__ import annotations

import importlib
import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from failproof_es.models.catalog.packages import describe_class
from failproof_es.problems import InvalidInput

FOLDERS_VARIABLE = "FAILPROOF_ES_CLASS_FOLDERS"
"""Where a process that was given no configuration looks for modules: folders, separated as in PATH.
The current folder unless it is set. A record decides no folder: whose it is may not be known."""
_used: dict[Path, None] = {}


def load_class(named: str, folder: Path | None = None) -> Any:
    """`package.module:Name`, from a module in `folder` or an installed one. Raises `InvalidInput`.

    `folder` is that of the configuration, where this process was given one.
    """
    module_name, _, name = named.partition(":")
    top = module_name.partition(".")[0]
    folder = folder or _own_folder(top)
    _used[folder] = None
    if sys.path[:1] != [str(folder)]:
        sys.path.insert(0, str(folder))
    try:
        _require_the_one_in(folder, top)
        return getattr(importlib.import_module(module_name), name)
    except Exception as error:
        raise InvalidInput.because(
            f"class {describe_class(named)} cannot be loaded: {type(error).__name__}: {error}",
            remedy=f"name it as `package.module:Name`, a module in {folder} or an installed one",
        ) from error


def folders_for_workers() -> dict[str, str]:
    """The variable with which processes of this one look for modules where it did."""
    return {FOLDERS_VARIABLE: os.pathsep.join(map(str, _used))} if _used else {}


def _own_folder(module: str) -> Path:
    """The first folder with the module, of those in the variable; else the first of them."""
    named = os.environ.get(FOLDERS_VARIABLE, "").split(os.pathsep)
    folders = [Path(folder).absolute() for folder in named if folder] or [Path.cwd()]
    holding = (folder for folder in folders if PathFinder.find_spec(module, [str(folder)]))
    return next(holding, folders[0])


def _require_the_one_in(folder: Path, module: str) -> None:
    """Raise `ImportError` if the process holds a module of that name from another folder."""
    importlib.invalidate_caches()
    beside = PathFinder.find_spec(module, [str(folder)])
    loaded = getattr(sys.modules.get(module), "__file__", None)
    if beside is not None and beside.origin and loaded and Path(loaded) != Path(beside.origin):
        raise ImportError(f"{module} was imported from {loaded} before; a process holds one")
