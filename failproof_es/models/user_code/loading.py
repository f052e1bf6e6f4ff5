"""Loads a user's own class, as the providers `python` and those of client libraries do."""

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

_used: dict[Path, None] = {}


class _OfClasses(MetaPathFinder):
    """Finds the modules of classes in the folders of their configurations, before all others.

    The folders are not on `sys.path`: the program imports modules late and looks for plugins there.
    A file of such a name beside a configuration is not what it means, and may be a stranger's.
    """

    def __init__(self) -> None:
        self.folders: dict[str, Path] = {}
        """By the name of a module."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        folder = self.folders.get(name)
        return None if folder is None else spec_beside(folder, name)


class _BesideClasses(MetaPathFinder):
    """Finds what these modules import from their folders, where nobody else has it."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        folders = dict.fromkeys(map(str, _OF_CLASSES.folders.values()))
        return PathFinder.find_spec(name, list(folders)) if path is None else None


_OF_CLASSES, _BESIDE_CLASSES = _OfClasses(), _BesideClasses()


def load_class(class_name: str, method: str, folder: Path | None = None) -> Any:
    """`package.module:Name`, from a module in `folder` or an installed one: it has that method.

    `folder` is that of the configuration, where this process was given one. Raises `InvalidInput`.
    Importing the class runs its module; nothing in it is called.
    """
    module_name, _, name = class_name.partition(":")
    if is_of_standard_library(module_name):
        raise unfit(class_name, OF_PYTHON)
    top = module_name.partition(".")[0]
    folder = folder_of_class(top, folder)
    _used[folder] = None
    _search(folder, top)
    try:
        _require_the_one_in(folder, top)
        kind = getattr(importlib.import_module(module_name), name)
    except Exception as error:
        raise InvalidInput.because(
            f"class {describe_class(class_name)} cannot be loaded: {type(error).__name__}: {error}",
            remedy=naming(folder),
        ) from error
    if not isinstance(kind, type):
        raise unfit(class_name, f"is a {type(kind).__name__}, and not a class")
    if is_of_standard_library(kind.__module__):
        raise unfit(class_name, OF_PYTHON)
    if not callable(getattr(kind, method, None)):
        raise unfit(class_name, f"has no method `{method}`")
    return kind


def folders_for_workers() -> dict[str, str]:
    """The variable with which processes of this one look for modules where it did."""
    return {FOLDERS_VARIABLE: os.pathsep.join(map(str, _used))} if _used else {}


def _search(folder: Path, module: str) -> None:
    """Find the module in the folder first and, if it is there, what it imports there last."""
    if PathFinder.find_spec(module, [str(folder)]) is None:
        return
    _OF_CLASSES.folders[module] = folder
    if _OF_CLASSES not in sys.meta_path:
        sys.meta_path[:] = [_OF_CLASSES, *sys.meta_path, _BESIDE_CLASSES]


def _require_the_one_in(folder: Path, module: str) -> None:
    """Raise `ImportError` if the process holds a module of that name from another folder."""
    importlib.invalidate_caches()
    spec = PathFinder.find_spec(module, [str(folder)])
    loaded = getattr(sys.modules.get(module), "__file__", None)
    if spec is not None and spec.origin and loaded and Path(loaded) != Path(spec.origin):
        raise ImportError(f"{module} was imported from {loaded} before; a process holds one")
