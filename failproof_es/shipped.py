"""Where the suites and configurations that ship with the package are."""

from __future__ import annotations

from pathlib import Path


def folder() -> Path:
    """The folder that holds `suites/` and `configs/`: in the package, or in its checkout."""
    package = Path(__file__).parent
    installed = package / "data"
    return installed if installed.is_dir() else package.parent
