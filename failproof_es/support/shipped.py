"""Finds files by their paths, and shipped suites and configurations by their names.

A relative path in a file starts from the file's folder. A relative path on the command line starts
from the current folder. Shipped suites and configurations have names instead of paths:
`shipped:injection` is a suite, `shipped:redteam` a folder of suites, `shipped:redteam/grounding`
one of them. On the command line `quickstart` or `shipped:quickstart` is a configuration.
"""

from __future__ import annotations

import os
from difflib import get_close_matches
from pathlib import Path

from failproof_es.problems import InvalidInput

PREFIX = "shipped:"


def resolve(path: str, folder: str | Path | None) -> Path:
    """The absolute path of `path`, which may be relative to `folder`. Expands `~`.

    `None` as `folder` is the current folder.
    """
    return Path(folder or Path.cwd()).absolute() / expand_home(path)


def expand_home(path: str) -> Path:
    """The path with the folder of a user for its `~` or `~NAME`; unchanged without such a user."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 - `Path.expanduser` raises RuntimeError


def shorten(path: str | Path) -> str:
    """The path as text for people: relative if it is below the current folder, else unchanged."""
    path = Path(path)
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def folder() -> Path:
    """The folder with the shipped `suites/` and `configs/`, in the package or its checkout."""
    package = Path(__file__).parents[1]
    installed = package / "data"
    return installed if installed.is_dir() else package.parent


def configuration_names() -> list[str]:
    """The names of the configurations that ship."""
    return sorted(_configurations())


def suite_names() -> list[str]:
    """The names of the suites that ship, folders of suites among them."""
    return sorted(_suites())


def configuration(argument: Path) -> Path | None:
    """Path of the shipped configuration that a command-line argument names.

    `None` if the argument is the path of a file. Raises `InvalidInput` if a word without `shipped:`
    names both a configuration and a file, or if no configuration has the name after `shipped:`.
    """
    name = str(argument)
    if name.startswith(PREFIX):
        return _find_shipped(name, _configurations())
    shipped = _configurations().get(name)
    if shipped is not None and argument.exists():
        raise InvalidInput.because(
            "ambiguous-name",
            f"{name} is a file here and a configuration that ships",
            remedy=f"rename the file, or write {PREFIX}{name}",
        )
    return shipped


def suites(path: str) -> Path | None:
    """Path of the suite, or of the folder of suites, that `shipped:NAME` names.

    `None` if `path` does not begin with `shipped:`. Raises `InvalidInput` if no suite or folder of
    that name ships.
    """
    return _find_shipped(path, _suites()) if path.startswith(PREFIX) else None


def describe(path: Path) -> str | None:
    """`shipped:NAME` for the path of a shipped suite or folder; `None` for any other path."""
    return next((f"{PREFIX}{name}" for name, file in _suites().items() if file == path), None)


def _configurations() -> dict[str, Path]:
    return {file.stem: file for file in (folder() / "configs").glob("*.yaml")}


def _suites() -> dict[str, Path]:
    home = folder() / "suites"
    return {path.relative_to(home).with_suffix("").as_posix(): path for path in home.rglob("*")}


def _find_shipped(path: str, shipped: dict[str, Path]) -> Path:
    name = path.removeprefix(PREFIX).strip("/")
    if name in shipped:
        return shipped[name]
    close = get_close_matches(name, shipped, n=1)
    hint = f"did you mean {PREFIX}{close[0]}? " if close else ""
    names = ", ".join(sorted(shipped))
    raise InvalidInput.because(
        "unknown-name", f"nothing ships as {path}", remedy=f"{hint}there are: {names}"
    )
