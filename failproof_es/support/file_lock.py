"""File locks between the threads and processes of a machine.

`flock` belongs to what was opened, so it holds between threads, too; the locks that most
libraries take (`fcntl`) belong to the process.
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
    """Be the only one who holds the lock file at `path`, which is made and stays there.

    Raises `OSError` where it cannot be made, and `TimeoutError` when somebody else holds it
    for longer than the patience lasts.
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
    """The lock file of those who change the file at `path`."""
    return path.with_name(f".{path.name}.lock")
