"""A process of this program beside another one, which it never outlives."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import IO


class Sidecar:
    """`python -m MODULE`. It reads its task from its standard input, and ends when that does.

    The task is no argument: every user can read arguments, and a task may hold a password.
    Ctrl-C does not reach it: its parent gets that, and ends it.
    """

    def __init__(
        self,
        module: str,
        first_input: bytes,
        *,
        answers: bool = False,
        descriptors: Sequence[int] = (),
    ) -> None:
        """`first_input` is what it reads first. With `answers` its standard output is a pipe,
        `output`; `descriptors` stay open in it. Raises `OSError` where no process can be started.
        """
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE if answers else subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=descriptors,
            start_new_session=True,
        )
        with suppress(OSError):  # it has ended already, which is noticed when it is waited for
            self.send(first_input)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def output(self) -> IO[bytes]:
        """What it answers."""
        assert self._process.stdout is not None
        return self._process.stdout

    @property
    def has_ended(self) -> bool:
        """Whether it is over, for whatever reason."""
        return self._process.poll() is not None

    def send(self, data: bytes) -> None:
        """Raises `OSError` where it has ended."""
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        self._process.stdin.flush()

    def wait(self) -> int:
        """Its exit code, once it has ended by itself; below 0 it is the signal that ended it."""
        return self._process.wait()

    def stop(self, seconds: float) -> int | None:
        """Let it end, and wait so long. Its exit code; `None` where it had to be killed."""
        self._close(self._process.stdin)
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            return None

    def kill(self) -> None:
        """End it at once, and let go of its pipes. Idempotent."""
        self._process.kill()
        self._close(self._process.stdin)
        self._close(self._process.stdout)
        self._process.wait()

    @staticmethod
    def _close(pipe: IO[bytes] | None) -> None:
        if pipe is not None:
            with suppress(OSError):  # what was not sent is not needed any more
                pipe.close()
