"""This process: its signals and terminal, its file descriptors, a stderr that cannot fail."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO, cast

_DESCRIPTORS = 65_536
_NOBODY_READS = (errno.EPIPE, errno.EIO, errno.EBADF, errno.ENXIO)


def raise_descriptor_limit() -> None:
    """Raise the limit of open files to 65,536, or as far as the system allows.

    Each request in flight needs one.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < limit:
        with contextlib.suppress(ValueError, OSError):  # a kernel may allow less than it reports
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def at_a_terminal() -> bool:
    """Whether stdin and stderr are a terminal, so that a person can be asked and press Ctrl-C."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def termination_signals() -> list[signal.Signals]:
    """The signals that end a process besides Ctrl-C."""
    is_ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN  # under `nohup`
    return [signal.SIGTERM] if is_ignored else [signal.SIGTERM, signal.SIGHUP]


def child_command(*arguments: str) -> list[str]:
    """The command line that runs this program in a child process with these arguments.

    The child imports from the current directory only if this process does.
    """
    here = {"", str(Path.cwd())}
    safe = [] if sys.path and sys.path[0] in here else ["-P"]
    return [sys.executable, *safe, "-m", "failproof_es.cli", *arguments]


@contextlib.contextmanager
def ignore_broken_pipe() -> Iterator[None]:
    """Within this context, output to stdout is dropped without an error if its reader is gone.

    Any other failure to write (a full disk) is still an error.
    """
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        if error.errno not in _NOBODY_READS:
            raise
        _discard_buffer(sys.stdout)


@contextlib.contextmanager
def unbreakable_stderr() -> Iterator[None]:
    """Within this context, messages to a closed or full stderr are dropped without an error.

    A message for people must not end a run.
    """
    before = sys.stderr
    sys.stderr = cast("TextIO", _Unbreakable(before))
    try:
        yield
    finally:
        sys.stderr = before
        try:
            before.flush()
        except (OSError, ValueError):  # ValueError: closed
            _discard_buffer(before)


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


def replace_unencodable() -> None:
    """Print characters that a terminal's encoding lacks as escapes (`\\xe9`) from now on.

    A table never breaks off in the middle.
    """
    for stream in (sys.stdout, sys.stderr):
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            with contextlib.suppress(OSError, ValueError):  # closed, or full already
                reconfigure(errors="backslashreplace")


def _discard_buffer(stream: TextIO) -> None:
    """Discard what the stream has not written: otherwise Python fails at exit when flushing it."""
    with contextlib.suppress(OSError, ValueError), Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())
