"""A process of this program that runs beside another one, and never outlives it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import IO


class Sidecar:
    """A process `python -m MODULE` that exits when its standard input ends.

    It reads its task there, because every user can read arguments, and a task may hold a password.
    Ctrl-C does not reach the process: it reaches the parent, which ends the process.
    """

    def __init__(
        self,
        module: str,
        first_input: bytes,
        *,
        answers: bool = False,
        descriptors: Sequence[int] = (),
    ) -> None:
        """Start the process and send `first_input`. Raises `OSError` if it cannot be started.

        With `answers` the process's standard output is the pipe `output`. The file descriptors in
        `descriptors` stay open in the process.
        """
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE if answers else subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=descriptors,
            start_new_session=True,
        )
        with suppress(OSError):  # it has exited already, which `wait` shows
            self.send(first_input)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def output(self) -> IO[bytes]:
        """The process's standard output, to read from; only if it was started with `answers`."""
        assert self._process.stdout is not None
        return self._process.stdout

    @property
    def has_ended(self) -> bool:
        """Whether the process has exited, for whatever reason."""
        return self._process.poll() is not None

    def send(self, data: bytes) -> None:
        """Write to the process's standard input. Raises `OSError` if the process has exited."""
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        self._process.stdin.flush()

    def wait(self) -> int:
        """Wait until the process has exited by itself; its exit code, negative for a signal."""
        return self._process.wait()

    def stop(self, seconds: float) -> int | None:
        """Close the process's input and wait up to `seconds`, then kill it.

        Returns its exit code, or `None` if it had to be killed.
        """
        self._close(self._process.stdin)
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            return None

    def kill(self) -> None:
        """Kill the process and close its pipes. Idempotent."""
        self._process.kill()
        self._close(self._process.stdin)
        self._close(self._process.stdout)
        self._process.wait()

    @staticmethod
    def _close(pipe: IO[bytes] | None) -> None:
        if pipe is not None:
            with suppress(OSError):  # unsent input is not needed
                pipe.close()
