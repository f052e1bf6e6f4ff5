"""What a long run needs of its process: descriptors, and a standard error that cannot break it."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO, cast

_DESCRIPTORS = 65_536
_NOBODY_READS = (errno.EPIPE, errno.EIO, errno.EBADF, errno.ENXIO)


def raise_descriptor_limit() -> None:
    """Let this process open as many files as it may: each request under way is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(ValueError, OSError):  # a kernel may allow less than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


@contextlib.contextmanager
def ignore_broken_pipe() -> Iterator[None]:
    """What is printed here has no reader any more? Then it is lost, and nothing else is.

    An output that cannot be written for another reason (a full disk) is an error as ever.
    """
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        if error.errno not in _NOBODY_READS:
            raise
        _to_nowhere(sys.stdout)


@contextlib.contextmanager
def unbreakable_stderr() -> Iterator[None]:
    """For as long as this lasts nothing fails for a standard error that is gone or full.

    What is said to people must not decide what becomes of a run.
    """
    before = sys.stderr
    sys.stderr = cast("TextIO", _Unbreakable(before))
    try:
        yield
    finally:
        sys.stderr = before
        try:
            before.flush()
        except (OSError, ValueError):  # ValueError: it is closed
            _to_nowhere(before)


class _Unbreakable:
    """A text stream whose writes never raise."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _to_nowhere(stream: TextIO) -> None:
    """Let what the stream still holds go nowhere: Python fails at its exit if it cannot."""
    with contextlib.suppress(OSError, ValueError), Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())
