"""Finds a user's own class without running any of its code."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from itertools import accumulate
from pathlib import Path

from failproof_es.models.catalog.packages import describe_class
from failproof_es.problems import InvalidInput
from failproof_es.support.regular_file import read_regular

OF_PYTHON = "is of the standard library, which has no client of a model"
_MOST_BYTES = 1 << 22
_BINDING = frozenset({"eval", "exec", "globals", "locals", "setattr", "sys", "vars"})
"""Names whose use can define other names that do not appear in the source."""
FOLDERS_VARIABLE = "FAILPROOF_ES_CLASS_FOLDERS"
"""The variable with the module folders, separated as in PATH, of a process without a configuration
file; by default the current folder. A record never names a folder: its origin may be unknown."""


def is_of_standard_library(module_name: str | None) -> bool:
    """Whether a module is part of Python's standard library."""
    return (module_name or "").partition(".")[0] in {*sys.stdlib_module_names, "builtins"}


def find_class(class_name: str, method: str, folder: Path | None = None) -> Path | None:
    """The file of `package.module:Name`; `None` if its source is not available.

    `folder` is the folder of the configuration, if this process has a configuration file. Raises
    `InvalidInput` if the name certainly is no class with that `method`: its module is missing or of
    the standard library, or its source does not define such a class.
    """
    module_name, _, name = class_name.partition(":")
    if is_of_standard_library(module_name):
        raise unfit("class-unfit", class_name, OF_PYTHON)
    folder = folder_of_class(module_name.partition(".")[0], folder)
    path = _file_of(class_name, module_name, folder)
    if path is None or path.suffix != ".py":
        return None
    try:
        tree = ast.parse(read_regular(path, _MOST_BYTES))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise unfit(
            "file-unreadable", class_name, f"cannot be read: {type(error).__name__}: {error}"
        ) from None
    bound = [node for node in _statements(tree.body) if _binds(node, name)]
    if not bound:
        if not _may_bind_anything(tree):
            raise unfit("class-not-found", class_name, f"is not in {path}", naming(folder))
    elif isinstance(bound[-1], ast.FunctionDef | ast.AsyncFunctionDef):
        raise unfit("class-unfit", class_name, "is a function, and not a class")
    elif isinstance(bound[-1], ast.ClassDef) and not _may_have(bound[-1], method):
        raise unfit("class-unfit", class_name, f"has no method `{method}`")
    return path


def file_of_class(class_name: str, folder: Path | None = None) -> Path | None:
    """The file that a class `package.module:Name` would be loaded from; `None` if it is missing.

    `folder` is the folder of the configuration, if this process has a configuration file.
    """
    module_name = class_name.partition(":")[0]
    try:
        folder = folder_of_class(module_name.partition(".")[0], folder)
        path = _file_of(class_name, module_name, folder)
    except (InvalidInput, ValueError):  # no module has such a name
        return None
    return None if path is None else path.resolve()


def unfit(code: str, class_name: str, message: str, remedy: str | None = None) -> InvalidInput:
    """The error for a class that cannot be used: `class NAME` and `message`."""
    return InvalidInput.because(
        code, f"class {describe_class(class_name)} {message}", remedy=remedy
    )


def naming(folder: Path) -> str:
    """The remedy for a class that is not found in `folder`."""
    return f"name it as `package.module:Name`, a module in {folder} or an installed one"


def folder_of_class(module: str, folder: Path | None) -> Path:
    """The folder to search first for a top-level module: `folder` if it is given.

    Otherwise the first folder in `FAILPROOF_ES_CLASS_FOLDERS` (by default the current one) that has
    the module; without the module the first of all.
    """
    if folder is not None:
        return folder
    names = os.environ.get(FOLDERS_VARIABLE, "").split(os.pathsep)
    folders = [Path(name).absolute() for name in names if name] or [Path.cwd()]
    holding = (path for path in folders if PathFinder.find_spec(module, [str(path)]))
    return next(holding, folders[0])


def spec_beside(folder: Path, name: str) -> ModuleSpec | None:
    """The spec of a top-level module, from the folder or else from `sys.path`.

    `None` if there is no such module.
    """
    return PathFinder.find_spec(name, [str(folder), *sys.path])


def _file_of(class_name: str, module_name: str, folder: Path) -> Path | None:
    """The file of the module `module_name`; `None` for a module without a file.

    `folder` is searched first. Raises `InvalidInput`, which names the class, if there is no such
    module.
    """
    spec, folders = None, None
    for name in accumulate(module_name.split("."), "{}.{}".format):
        spec = (folders is None and spec_beside(folder, name)) or _find_spec(name, folders)
        if spec is None:
            raise unfit(
                "class-not-found",
                class_name,
                f"cannot be found: there is no module {name}",
                naming(folder),
            )
        folders = list(spec.submodule_search_locations or ())
    return None if spec is None or not spec.has_location else Path(str(spec.origin))


def _find_spec(name: str, folders: Sequence[str] | None) -> ModuleSpec | None:
    """The spec of a module in `folders`, or of a top-level one for `None`; `None` if missing.

    `importlib.util.find_spec` would import its parent packages.
    """
    for finder in sys.meta_path:
        if (spec := finder.find_spec(name, folders)) is not None:
            return spec
    return None


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when the module is imported, in order, branches included."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If | ast.Try | ast.With):
            yield from _statements(statement.body)
            yield from _statements(getattr(statement, "orelse", []))
            yield from _statements(getattr(statement, "finalbody", []))
            for handler in getattr(statement, "handlers", []):
                yield from _statements(handler.body)


def _binds(statement: ast.stmt, name: str) -> bool:
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return statement.name == name
        case ast.Import() | ast.ImportFrom():
            names = [alias.asname or alias.name.partition(".")[0] for alias in statement.names]
            return name in names
    return any(
        isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == name
        for node in ast.walk(statement)
    )


def _may_bind_anything(tree: ast.Module) -> bool:
    """Whether the module may define names that its source does not show."""
    return any(
        (isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names))
        or (isinstance(node, ast.FunctionDef) and node.name == "__getattr__")
        or (isinstance(node, ast.Name) and node.id in _BINDING)
        for node in ast.walk(tree)
    )


def _may_have(kind: ast.ClassDef, method: str) -> bool:
    """Whether the class defines the method, or may inherit it or get it from a decorator."""
    own = any(_binds(statement, method) for statement in _statements(kind.body))
    return own or bool(kind.bases or kind.decorator_list or kind.keywords)
