"""The meaning of a path that a configuration or a command line names.

A relative path in a file means beside that file. A relative path on the command line starts from
the current folder. What ships has names (`failproof_es/support/shipped.py`), and no path.
"""

from __future__ import annotations

from pathlib import Path


def resolve(path: str, folder: str | Path | None) -> Path:
    """The path, from `folder` if it is relative; `None` means the current folder. `~` is a home."""
    return Path(folder or Path.cwd()).absolute() / Path(path).expanduser()


def shorten(path: str | Path) -> str:
    """The path for people: from the current folder if it is below it, else as it is."""
    path = Path(path)
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
