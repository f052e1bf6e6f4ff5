"""Finds the suites and configurations that ship with the package."""

from __future__ import annotations

from pathlib import Path


def folder() -> Path:
    """The folder that holds `suites/` and `configs/`: in the package, or in its checkout."""
    package = Path(__file__).parents[1]
    installed = package / "data"
    return installed if installed.is_dir() else package.parent


def configuration(path: Path) -> Path:
    """The file itself where there is one, else the configuration of that name that ships.

    `quickstart` and `configs/quickstart.yaml` both name a configuration that ships.
    """
    if path.is_absolute() or path.exists():
        return path
    candidates = (folder() / path, folder() / "configs" / path.with_suffix(".yaml"))
    return next((found for found in candidates if found.is_file()), path)


def configuration_names() -> list[str]:
    """The names of the configurations that ship."""
    return sorted(file.stem for file in (folder() / "configs").glob("*.yaml"))


def suites(path: str) -> str:
    """The path itself where something matches it, else the suites of that name that ship."""
    ships = folder() / path
    return str(ships) if not Path(path).exists() and ships.exists() else path
