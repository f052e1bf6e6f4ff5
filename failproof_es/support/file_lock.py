"""File locks between the threads and processes of a machine.

A lock of `flock` belongs to an open file, so it excludes other threads, too; a lock of `fcntl`,
which most libraries use, belongs to the process.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from failproof_es.support.regular_file import open_regular

_PATIENCE_S = 30.0


@contextlib.contextmanager
def locked(path: Path, patience_s: float = _PATIENCE_S) -> Iterator[None]:
    """Hold an exclusive lock on the file at `path` until the context ends.

    The file is created if it is missing, and never removed. Raises `OSError` if it cannot be
    created, and `TimeoutError` if another holder keeps it for more than `patience_s` seconds.
    """
    with open_regular(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW) as file:
        waiting = Retrying(
            retry=retry_if_exception_type(BlockingIOError),
            wait=wait_fixed(0.02),
            stop=stop_after_delay(patience_s),
            reraise=True,
        )
        try:
            waiting(fcntl.flock, file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise TimeoutError(errno.ETIMEDOUT, "another process holds it", str(path)) from None
        yield


def lock_beside(path: Path) -> Path:
    """Path of the lock file that guards changes of the file at `path`: `.NAME.lock` beside it."""
    return path.with_name(f".{path.name}.lock")
