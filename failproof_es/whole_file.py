"""Writing a file so that it holds all of it or what it held before. Survives a power cut, too."""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Iterable
from glob import escape
from pathlib import Path
from typing import NamedTuple

import psutil

_PROCESS = re.compile(r"[0-9]{1,9}")


class Written(NamedTuple):
    """What a file holds now."""

    bytes: int
    sha256: str


def write_whole(path: Path, pieces: Iterable[bytes]) -> Written:
    """Write the pieces, one after the other.

    Folders that are missing are made. Raises `OSError`, and whatever `pieces` raises; nothing
    half-written stays behind, not even of a process that was killed.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(path)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    size, digest = 0, hashlib.sha256()
    try:
        with partial.open("wb") as file:
            for piece in pieces:
                size += file.write(piece)
                digest.update(piece)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)
    return Written(size, digest.hexdigest())


def _remove_leftovers(path: Path) -> None:
    """What processes that are gone had begun to write."""
    for leftover in path.parent.glob(f".{escape(path.name)}.*.partial"):
        process = leftover.name.removesuffix(".partial").rpartition(".")[2]
        if _PROCESS.fullmatch(process) and not psutil.pid_exists(int(process)):
            leftover.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Make the new name itself durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
