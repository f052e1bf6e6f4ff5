"""Opens files that somebody else may have placed: regular files only, without waiting.

A pipe without a writer, a terminal or a device is an error at once.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def open_regular(path: Path, flags: int = os.O_RDONLY) -> BinaryIO:
    """Open a regular file for binary reading, without waiting; `flags` are those of `os.open`.

    Raises `OSError` if it cannot be opened, or is not a regular file.
    """
    descriptor = os.open(path, flags | os.O_NONBLOCK, 0o600)
    try:
        _refuse_irregular(path, os.fstat(descriptor).st_mode)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_regular(path: Path, most: int) -> bytes:
    """The content of a regular file of at most `most` bytes.

    Raises `OSError` if it cannot be opened, is not a regular file, or is larger. A file that is too
    large is not read: a sparse file takes no disk, but its NULs all memory.
    """
    with open_regular(path) as file:
        too_large = os.fstat(file.fileno()).st_size > most
        content = b"" if too_large else file.read(most + 1)
    if too_large or len(content) > most:
        raise OSError(errno.EFBIG, f"larger than {most:,} bytes", str(path))
    return content


def check_replaceable(path: Path) -> None:
    """Raise `OSError` if something other than a regular file exists at the path."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    _refuse_irregular(path, mode)


def _refuse_irregular(path: Path, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
