"""One child process of a pool, and the limits that end it."""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from failproof_es.support.bounded.messages import (
    Call,
    ChildReady,
    ChildResult,
    ChildStart,
    LimitExceeded,
    send,
)

PROGRAM = "failproof_es.support.bounded.child"
_CHUNK = 1 << 16
_END_S = 10.0
"""Seconds that a child may take to end once it answers no more."""
_LITTLE_CPU_S = 0.1
"""Processor seconds between two samples up to which a child counts as waiting."""


class ChildEnded(Exception):
    """A child exited by itself, which says nothing about the call that it was at."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one call."""

    cpu_s: float
    """Processor time of the child, in seconds."""
    wait_s: float
    """Seconds that the child may wait for anything but the processor."""
    memory_bytes: int
    """Address space of the child, in bytes."""


class PooledCall:
    """A call that waits for its result: the pickled argument, and the caller's future."""

    __slots__ = ("argument", "future")

    def __init__(self, argument: bytes, future: Future[Any]) -> None:
        self.argument = argument
        self.future = future

    def settle(self, answer: ChildResult) -> None:
        try:
            value = pickle.loads(answer.value)  # noqa: S301 - of a program of ours
        except Exception as error:
            self.fail(error)
            return
        if answer.is_error:
            self.fail(value)
        else:
            self.future.set_result(value)

    def fail(self, error: BaseException) -> None:
        if not self.future.done():
            self.future.set_exception(error)


@dataclass(frozen=True, slots=True)
class EndOfChild:
    """Why a child ended."""

    error: Exception
    is_certain: bool
    """Whether the call under way is certainly the cause."""


class RunningChild:
    """One child process, with the pipes to it."""

    def __init__(
        self, start: ChildStart, limits: Limits, on_ready: Callable[[RunningChild], None]
    ) -> None:
        self._limits = limits
        self._on_ready = on_ready
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the command; the group ends with the child
        )
        self._overdue = False
        self._used_s = 0.0
        self._buffer = b""
        with contextlib.suppress(OSError):  # it ended at once: its missing answer shows that
            self._send((sys.path, start))

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """Kill the child and the processes that it started."""
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def answer(self, tasks: list[PooledCall], *, in_threads: bool) -> list[PooledCall]:
        """Make the calls in the child and settle each; return the calls without a result.

        The list is empty unless the child ended, or was killed because it exceeded a limit. With
        `in_threads` the child makes the calls at the same time.
        """
        unanswered = dict(enumerate(tasks))
        arguments = [task.argument for task in tasks]
        try:
            self._send(Call(arguments, self._limits.cpu_s, in_threads))
            while unanswered:
                answer = self._receive(self._limits.wait_s)
                if answer is None:
                    break
                if isinstance(answer, ChildReady):
                    self._on_ready(self)
                    continue
                unanswered.pop(answer.place).settle(answer)
        except OSError:
            pass
        if unanswered:
            self._await_end()
            self.kill()  # and the processes that it started
        return list(unanswered.values())

    def _await_end(self) -> None:
        try:
            self._process.wait(0 if self._overdue else _END_S)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.wait()

    @property
    def end(self) -> EndOfChild:
        """Why the child ended; waits for its end."""
        code = self._process.wait()
        if self._overdue:
            waited = f"it waited for {self._limits.wait_s:g} s and had no result"
            return EndOfChild(LimitExceeded(waited), True)
        if code == -signal.SIGPROF:
            used = f"it needed more than {self._limits.cpu_s:g} s of processor time"
            return EndOfChild(LimitExceeded(used), True)
        if code < 0:  # a fault of its own, or the system's: out of memory, for example
            return EndOfChild(
                LimitExceeded(f"its process was ended by signal {-code}, twice"), False
            )
        return EndOfChild(ChildEnded(f"a child process ended with exit code {code}"), True)

    def _send(self, message: object) -> None:
        assert self._process.stdin is not None
        send(self._process.stdin, message)

    def _receive(self, wait_s: float) -> ChildReady | ChildResult | None:
        """The next message, after up to `wait_s` seconds without work of the child.

        `None` if the child ended or is overdue.
        """
        size = self._read_bytes(8, wait_s)
        body = None if size is None else self._read_bytes(int.from_bytes(size, "big"), wait_s)
        if body is None:
            return None
        answer = pickle.loads(body)  # noqa: S301 - of a program of ours
        assert isinstance(answer, ChildReady | ChildResult)
        return answer

    def _read_bytes(self, count: int, wait_s: float) -> bytes | None:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        pieces = [self._buffer]
        have = len(self._buffer)
        while have < count:
            if not poll.poll(wait_s * 1000):
                if self._is_at_work():
                    continue
                self._overdue = True
                return None
            piece = os.read(descriptor, max(_CHUNK, count - have))
            if not piece:
                return None
            pieces.append(piece)
            have += len(piece)
        read = b"".join(pieces)
        self._buffer = read[count:]
        return read[:count]

    def _is_at_work(self) -> bool:
        """Whether the child works or waits for a processor: then its processor time bounds it."""
        import psutil  # hardly ever needed

        try:
            process = psutil.Process(self._process.pid)
            used_s, self._used_s = self._used_s, sum(process.cpu_times()[:2])
            has_worked = self._used_s - used_s > _LITTLE_CPU_S
            return has_worked or process.status() != psutil.STATUS_SLEEPING
        except psutil.Error:
            return False
