"""The files that decide what a run asks, and the detection of their changes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from failproof_es.configuration.loading import LoadedConfiguration
from failproof_es.dialects import case_files
from failproof_es.dialects.registry import dialect_named, names
from failproof_es.problems import InvalidInput

Stamp = tuple[int, int, int]
"""A file's modification time in nanoseconds, its size, and its inode."""


def named_files(loaded: LoadedConfiguration) -> Iterator[Path]:
    """The paths of the configuration, its case files and its price file.

    Case files that cannot be found are left out.
    """
    yield loaded.path
    prompts = loaded.configuration.prompts
    for path in [prompts.path] if isinstance(prompts.path, str) else prompts.path or []:
        try:
            yield from case_files(path, _suffixes(prompts.dialect), loaded.folder)
        except InvalidInput:  # the next run reports the error
            continue
    if loaded.price_file is not None:
        yield loaded.price_file


def _suffixes(dialect: str | None) -> list[str]:
    """The file name suffixes of case files, of this dialect or, for `None`, of all dialects."""
    suffixes: dict[str, None] = {}
    for name in names() if dialect is None else [dialect]:
        with suppress(InvalidInput):
            suffixes.update(dict.fromkeys(dialect_named(name).suffixes))
    return list(suffixes) or [""]


def stamps(files: Iterator[Path] | list[Path]) -> dict[Path, Stamp | None]:
    """The stamp of each file by its path; `None` if the file does not exist."""
    file_stamps: dict[Path, Stamp | None] = {}
    for file in files:
        try:
            status = os.stat(file)  # noqa: PTH116 - a dangling link raises, as a missing file
        except OSError:
            file_stamps[file] = None
        else:
            file_stamps[file] = status.st_mtime_ns, status.st_size, status.st_ino
    return file_stamps


def contents(files: Iterable[Path]) -> dict[Path, str | None]:
    """The SHA-256 of each file in hexadecimal, by its path; `None` if it cannot be read."""
    digests: dict[Path, str | None] = {}
    for file in files:
        try:
            with file.open("rb") as opened:
                digests[file] = hashlib.file_digest(opened, "sha256").hexdigest()
        except OSError:
            digests[file] = None
    return digests


def changed(before: Mapping[Path, Stamp | None], now: Mapping[Path, Stamp | None]) -> list[Path]:
    """The files whose stamps differ: new, gone or written since; sorted."""
    every = dict.fromkeys((*before, *now))
    return sorted(file for file in every if before.get(file) != now.get(file))
