"""The folders that an entry of a configuration belongs to."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class EntryFolders:
    """The folders that an entry of `models` belongs to, and its place in the configuration."""

    folder: str | None = None
    """The folder that its relative paths start from; `None` is the current folder."""
    class_folder: Path | None = field(default=None, compare=False)
    """The folder searched first for the module of its class. A record does not decide it: whose
    record it is may not be known. `None` is the current folder."""
    entry: str | None = field(default=None, compare=False)
    """The entry in the file, such as `models[0]`; variants have the same. `None` if unknown."""
