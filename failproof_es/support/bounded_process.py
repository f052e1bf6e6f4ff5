"""Child processes that call one function on untrusted input, and can be killed.

The kernel ends a child that uses more processor time than a call may (`ITIMER_PROF`), in the
middle of C code too, however busy the machine is otherwise. Its address space is bounded as
well, and so is the time that a call waits. A child that ended is replaced when the next call
comes. Children end with the process that started them, by the end of their input.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import IO, Any
from weakref import WeakSet

import psutil

PROGRAM = "failproof_es.support.bounded_child"
_MOST_AT_ONCE = 64
"""Calls that are sent to a child together: waiting for each answer costs more than a short call."""
_CHUNK = 1 << 16
_IDLE_S = 60.0
"""A child that was not called for so long ends."""
_LITTLE_CPU_S = 0.1
"""Processor time of a child that waits, between two looks at it."""


_IS_BOUNDED = threading.Event()


def in_bounded_process() -> bool:
    """Whether this process is such a child: whatever it calls is bounded already."""
    return _IS_BOUNDED.is_set()


def declare_bounded() -> None:
    """Have `in_bounded_process` say so, once the limits of this process are set."""
    _IS_BOUNDED.set()


class Stopped(Exception):
    """A call needed more than its limits allow; the text says which limit, as a sentence."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one call may use."""

    cpu_s: float
    """Processor time of the child, in seconds."""
    wait_s: float
    """Seconds that it may wait for something else than the processor."""
    memory_bytes: int
    """Address space of the child."""


@dataclass(frozen=True, slots=True)
class Call:
    """What is sent to a child: arguments for its function, and how to call it."""

    arguments: Sequence[bytes]
    """Each a pickle of its own: one that cannot be read fails alone."""
    cpu_s: float
    in_threads: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """What a child sends back for one argument."""

    place: int
    is_error: bool
    value: bytes
    """A pickle: the function's result, or the exception that it raised."""


def send(pipe: IO[bytes], message: object) -> None:
    """Write a message behind its length. Raises `OSError` where nobody reads."""
    body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    pipe.write(len(body).to_bytes(8, "big"))
    pipe.write(body)
    pipe.flush()


class BoundedPool:
    """Calls `function(*context, argument)` in a few children.

    `function` and the classes of its arguments are importable by name. `in_threads` is for a
    function that waits for other programs: a child then calls it for several arguments at once.
    `nice` is by how much the children stand back for others. May be used by any thread.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        limits: Limits,
        *,
        context: tuple[Any, ...] = (),
        processes: int = 1,
        in_threads: bool = False,
        nice: int = 0,
    ) -> None:
        self._start = (f"{function.__module__}:{function.__qualname__}", context, nice)
        self._limits = limits
        self._in_threads = in_threads
        self._most = processes
        self._closed = False
        self._reset()
        _POOLS.add(self)

    def _reset(self) -> None:
        """No call and no child. A forked process has none of the threads that have them."""
        self._changed = threading.Condition()
        self._waiting: deque[_Task] = deque()
        self._idle = 0
        self._workers = 0
        self._children: set[_Child] = set()

    def submit(self, argument: object) -> Future[Any]:
        """The future result of a call. It may raise `Stopped`, and what the function raised."""
        task = _Task(pickle.dumps(argument, pickle.HIGHEST_PROTOCOL), Future())
        with self._changed:
            if self._closed:
                raise RuntimeError("the pool is closed")
            self._waiting.append(task)
            if self._idle >= len(self._waiting):
                self._changed.notify()
            elif self._workers < self._most:
                self._workers += 1
                threading.Thread(target=self._work, daemon=True).start()
        return task.future

    def call(self, argument: object) -> Any:
        """As `submit`, and wait for the result."""
        return self.submit(argument).result()

    def close(self) -> None:
        """Kill the children. Calls that wait are cancelled."""
        with self._changed:
            self._closed = True
            waiting, self._waiting = self._waiting, deque()
            children = list(self._children)
            self._changed.notify_all()
        for task in waiting:
            task.future.cancel()
        for child in children:
            child.kill()

    # -- a thread for each child ---------------------------------------------------------------

    def _work(self) -> None:
        child: _Child | None = None
        while tasks := self._take():
            try:
                while tasks:
                    child = self._living(child)
                    left = child.answer(tasks, self._limits, self._in_threads)
                    tasks = self._after_end(child, left) if left else []
            except Exception as error:  # of a child that cannot be started, for example
                for task in tasks:
                    task.fail(error)
        if child is not None:
            self._forget(child)

    def _take(self) -> list[_Task]:
        """The calls to send next, once there are some; none where the child is to end."""
        tasks: list[_Task] = []
        while not tasks:
            with self._changed:
                self._idle += 1
                self._changed.wait_for(lambda: self._waiting or self._closed, _IDLE_S)
                self._idle -= 1
                if self._closed or not self._waiting:
                    self._workers -= 1
                    return []
                taken = min(len(self._waiting), _MOST_AT_ONCE)
                tasks = [self._waiting.popleft() for _ in range(taken)]
            tasks = [task for task in tasks if task.future.set_running_or_notify_cancel()]
        return tasks

    def _after_end(self, child: _Child, left: list[_Task]) -> list[_Task]:
        """Fail the call that ended its child; return those that are to be called again.

        The child called them in order, so it was the first. Where it called several at once,
        each is called alone.
        """
        if not self._in_threads or len(left) == 1:
            left[0].fail(Stopped(child.end_reason(self._limits)))
            return left[1:]
        for task in left:
            child = self._living(child)
            if child.answer([task], self._limits, in_threads=False):
                task.fail(Stopped(child.end_reason(self._limits)))
        return []

    def _living(self, child: _Child | None) -> _Child:
        """The child, or its successor."""
        if child is not None:
            if child.is_alive():
                return child
            self._forget(child)
        child = _Child(self._start, self._limits)
        with self._changed:
            self._children.add(child)
            closed = self._closed
        if closed:
            self._forget(child)
            raise RuntimeError("the pool is closed")
        return child

    def _forget(self, child: _Child) -> None:
        with self._changed:
            self._children.discard(child)
        child.kill()
        child.close()


class _Task:
    """A call that waits for its answer."""

    __slots__ = ("argument", "future")

    def __init__(self, argument: bytes, future: Future[Any]) -> None:
        self.argument = argument
        self.future = future

    def settle(self, answer: Answer) -> None:
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


class _Child:
    """One child process."""

    def __init__(self, start: tuple[str, tuple[Any, ...], int], limits: Limits) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the command; the group ends with the child
        )
        self._overdue = False
        self._used_s = 0.0
        self._buffer = b""
        with contextlib.suppress(OSError):  # it ended at once: the first answer is missing
            self._send((sys.path, *start, limits.memory_bytes))

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """End it and what it started."""
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def answer(self, tasks: list[_Task], limits: Limits, in_threads: bool) -> list[_Task]:
        """Call for each task; return those that have no answer because the child ended."""
        unanswered = dict(enumerate(tasks))
        arguments = [task.argument for task in tasks]
        try:
            self._send(Call(arguments, limits.cpu_s, in_threads))
            while unanswered:
                answer = self._receive(limits.wait_s)
                if answer is None:
                    break
                unanswered.pop(answer.place).settle(answer)
        except OSError:
            pass
        if unanswered:
            self.kill()
            self._process.wait()
        return list(unanswered.values())

    def end_reason(self, limits: Limits) -> str:
        """Why it ended, after it ended."""
        code = self._process.wait()
        if self._overdue:
            return f"it waited for {limits.wait_s:g} s and had no result"
        if code == -signal.SIGPROF:
            return f"it needed more than {limits.cpu_s:g} s of processor time"
        ended = f"signal {-code}" if code < 0 else f"exit code {code}"
        return f"its process ended with {ended}"

    def _send(self, message: object) -> None:
        assert self._process.stdin is not None
        send(self._process.stdin, message)

    def _receive(self, wait_s: float) -> Answer | None:
        """The next answer; `None` once the child ended, or is overdue."""
        size = self._read(8, wait_s)
        body = None if size is None else self._read(int.from_bytes(size, "big"), wait_s)
        if body is None:
            return None
        answer = pickle.loads(body)  # noqa: S301 - of a program of ours
        assert isinstance(answer, Answer)
        return answer

    def _read(self, count: int, wait_s: float) -> bytes | None:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        pieces = [self._buffer]
        have = len(self._buffer)
        while have < count:
            if not poll.poll(wait_s * 1000):
                if self._wants_the_processor():
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

    def _wants_the_processor(self) -> bool:
        """Whether it is at work, or ready to be: then its processor time bounds it."""
        try:
            process = psutil.Process(self._process.pid)
            used_s, self._used_s = self._used_s, sum(process.cpu_times()[:2])
            has_worked = self._used_s - used_s > _LITTLE_CPU_S
            return has_worked or process.status() == psutil.STATUS_RUNNING
        except psutil.Error:
            return False


_POOLS: WeakSet[BoundedPool] = WeakSet()


@atexit.register
def _close_all() -> None:
    for pool in list(_POOLS):
        pool.close()


def _reset_all() -> None:
    for pool in list(_POOLS):
        pool._reset()


os.register_at_fork(after_in_child=_reset_all)
