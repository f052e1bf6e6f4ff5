"""Loads a user's own class, for the provider `python` and those of client libraries."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from failproof_es.models.catalog.packages import describe_class
from failproof_es.models.user_code.finding import (
    FOLDERS_VARIABLE,
    OF_PYTHON,
    folder_of_class,
    is_of_standard_library,
    naming,
    spec_beside,
    unfit,
)
from failproof_es.problems import InvalidInput

_used_folders: dict[Path, None] = {}


class _ClassModuleFinder(MetaPathFinder):
    """Finds the modules of users' classes in the configurations' folders, before other finders.

    The folders must not be on `sys.path`: the program imports modules late and searches plugins
    there, and would load a stranger's file of the same name from a configuration's folder.
    """

    def __init__(self) -> None:
        self.folders: dict[str, Path] = {}
        """The folder of each module."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        folder = self.folders.get(name)
        return None if folder is None else spec_beside(folder, name)


class _SiblingModuleFinder(MetaPathFinder):
    """Finds the modules that users' classes import from their folders, after all other finders."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        folders = dict.fromkeys(map(str, _CLASS_MODULES.folders.values()))
        return PathFinder.find_spec(name, list(folders)) if path is None else None


_CLASS_MODULES, _SIBLING_MODULES = _ClassModuleFinder(), _SiblingModuleFinder()


def load_class(class_name: str, method: str, folder: Path | None = None) -> Any:
    """The class `package.module:Name`, which has that method, from `folder` or an installed module.

    `folder` is the folder of the configuration, if this process has a configuration file. Importing
    the class runs its module, and calls nothing in it. Raises `InvalidInput` if the import fails,
    or if it is no class with that `method`.
    """
    module_name, _, name = class_name.partition(":")
    if is_of_standard_library(module_name):
        raise unfit("class-unfit", class_name, OF_PYTHON)
    top = module_name.partition(".")[0]
    folder = folder_of_class(top, folder)
    _used_folders[folder] = None
    _install_finders(folder, top)
    try:
        _require_module_of(folder, top)
        kind = getattr(importlib.import_module(module_name), name)
    except Exception as error:
        raise InvalidInput.because(
            "class-not-found" if _is_missing(error, module_name, name) else "class-failed",
            f"class {describe_class(class_name)} cannot be loaded: {type(error).__name__}: {error}",
            remedy=naming(folder),
        ) from error
    if not isinstance(kind, type):
        raise unfit("class-unfit", class_name, f"is a {type(kind).__name__}, and not a class")
    if is_of_standard_library(kind.__module__):
        raise unfit("class-unfit", class_name, OF_PYTHON)
    if not callable(getattr(kind, method, None)):
        raise unfit("class-unfit", class_name, f"has no method `{method}`")
    return kind


def _is_missing(error: Exception, module_name: str, name: str) -> bool:
    """Whether the import of a class failed because its module or its name does not exist."""
    match error:
        case ModuleNotFoundError():
            return f"{module_name}.".startswith(f"{error.name}.")
        case AttributeError():
            return error.name == name
    return False


def folders_for_workers() -> dict[str, str]:
    """The environment variable, by name, that makes child processes search the same folders.

    Empty if no class was loaded.
    """
    return {FOLDERS_VARIABLE: os.pathsep.join(map(str, _used_folders))} if _used_folders else {}


def _install_finders(folder: Path, module: str) -> None:
    """Install the finders: `folder` comes first for the module, and last for its imports.

    Does nothing if the folder does not hold the module.
    """
    if PathFinder.find_spec(module, [str(folder)]) is None:
        return
    _CLASS_MODULES.folders[module] = folder
    if _CLASS_MODULES not in sys.meta_path:
        sys.meta_path[:] = [_CLASS_MODULES, *sys.meta_path, _SIBLING_MODULES]


def _require_module_of(folder: Path, module: str) -> None:
    """Raise `ImportError` if the process holds a module of that name from another folder."""
    importlib.invalidate_caches()
    spec = PathFinder.find_spec(module, [str(folder)])
    loaded = getattr(sys.modules.get(module), "__file__", None)
    if spec is not None and spec.origin and loaded and Path(loaded) != Path(spec.origin):
        raise ImportError(f"{module} was imported from {loaded} before; a process holds one")
