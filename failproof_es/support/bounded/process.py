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
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

from failproof_es.support.bounded.messages import Call, ChildResult, ChildStart, LimitExceeded, send

PROGRAM = "failproof_es.support.bounded.child"
_MOST_AT_ONCE = 64
"""Most calls in one message to a child: a round trip costs more than a short call."""
_CHUNK = 1 << 16
_IDLE_S = 60.0
"""Seconds without a call after which a child ends."""
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


class BoundedPool:
    """A pool of at most `processes` children that call `function(*context, argument)`.

    Thread-safe. The functions and the classes of arguments are importable by name.
    `prepare(*context)` is called once in each child, without a limit of processor time, to import
    what `function` needs. `in_threads` is for a function that waits for other programs: a child
    then calls it for several arguments at once. `nice` is added to the niceness of the children.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        limits: Limits,
        *,
        context: tuple[Any, ...] = (),
        prepare: Callable[..., Any] | None = None,
        processes: int = 1,
        in_threads: bool = False,
        nice: int = 0,
    ) -> None:
        prepares = None if prepare is None else _name(prepare)
        self._start = ChildStart(_name(function), prepares, context, nice, limits.memory_bytes)
        self._limits = limits
        self._in_threads = in_threads
        self._most = processes
        self._closed = False
        self._reset()
        _POOLS.add(self)

    def _reset(self) -> None:
        """Forget all calls and children, also in a forked process, which lacks their threads."""
        self._changed = threading.Condition()
        self._waiting: deque[_Task] = deque()
        self._idle = 0
        self._workers = 0
        self._children: set[_Child] = set()

    def submit(self, argument: object) -> Future[Any]:
        """Call the function with `argument` in a child; return a future of the result.

        Raises `RuntimeError` if the pool is closed. The future may raise `LimitExceeded`,
        `ChildEnded` if the child exited by itself, and what the function raised.
        """
        task = _Task(pickle.dumps(argument, pickle.HIGHEST_PROTOCOL), Future())
        with self._changed:
            if self._closed:
                raise RuntimeError("the pool is closed")
            self._waiting.append(task)
            if self._idle >= len(self._waiting):
                self._changed.notify()
            elif self._workers < self._most:
                self._workers += 1
                worker = _ChildWorker(self, in_threads=self._in_threads)
                threading.Thread(target=worker.work, daemon=True).start()
        return task.future

    def call(self, argument: object) -> Any:
        """Call the function with `argument` and wait for the result.

        Raises like `submit` and its future.
        """
        return self.submit(argument).result()

    def close(self) -> None:
        """Kill the children and cancel the waiting calls; later calls raise `RuntimeError`."""
        with self._changed:
            self._closed = True
            waiting, self._waiting = self._waiting, deque()
            children = list(self._children)
            self._changed.notify_all()
        for task in waiting:
            task.future.cancel()
        for child in children:
            child.kill()

    # -- for its workers -----------------------------------------------------------------------

    def take(self) -> list[_Task]:
        """The next calls for a worker, after waiting for some; empty if the worker is to end.

        At most 64. A worker ends when the pool is closed or had no call for a minute.
        """
        tasks: list[_Task] = []
        while not tasks:
            with self._changed:
                self._idle += 1
                self._changed.wait_for(lambda: self._waiting or self._closed, _IDLE_S)
                self._idle -= 1
                if self._closed or not self._waiting:
                    self._workers -= 1
                    return []
                count = min(len(self._waiting), _MOST_AT_ONCE)
                tasks = [self._waiting.popleft() for _ in range(count)]
            tasks = [task for task in tasks if task.future.set_running_or_notify_cancel()]
        return tasks

    def begin_child(self) -> _Child:
        """Start a child. Raises `RuntimeError` if the pool is closed."""
        child = _Child(self._start, self._limits)
        with self._changed:
            self._children.add(child)
            closed = self._closed
        if closed:
            self.end_child(child)
            raise RuntimeError("the pool is closed")
        return child

    def end_child(self, child: _Child) -> None:
        """Kill a child and the processes that it started."""
        with self._changed:
            self._children.discard(child)
        child.kill()
        child.close()


class _ChildWorker:
    """A thread of a pool: it has one child at a time, and starts another when that has ended."""

    def __init__(self, pool: BoundedPool, *, in_threads: bool) -> None:
        self._pool = pool
        self._in_threads = in_threads
        self._child: _Child | None = None

    def work(self) -> None:
        """Send calls to the child until the pool has no more."""
        while tasks := self._pool.take():
            try:
                while tasks:
                    unanswered = self._living().answer(tasks, in_threads=self._in_threads)
                    tasks = self._after_end(unanswered) if unanswered else []
            except BaseException as error:  # a child that cannot be started, for example
                for task in tasks:
                    task.fail(error)
        if self._child is not None:
            self._pool.end_child(self._child)

    def _after_end(self, unanswered: list[_Task]) -> list[_Task]:
        """Fail the call that ended the child; return the calls still to be made.

        `unanswered` are the calls without an answer, in order. The first one is the suspect. If the
        child called several at once, or was ended by a signal of unknown origin, each suspect is
        repeated alone.
        """
        assert self._child is not None
        end = self._child.end
        suspects = unanswered if self._in_threads and len(unanswered) > 1 else unanswered[:1]
        if len(suspects) == 1 and end.is_certain:
            suspects[0].fail(end.error)
            return unanswered[1:]
        for task in suspects:
            child = self._living()
            if child.answer([task], in_threads=False):
                task.fail(child.end.error)
        return unanswered[len(suspects) :]

    def _living(self) -> _Child:
        """The worker's child, which is alive; a new one if the last one has ended."""
        if self._child is not None and not self._child.is_alive():
            self._pool.end_child(self._child)
            self._child = None
        if self._child is None:
            self._child = self._pool.begin_child()
        return self._child


def _name(function: Callable[..., Any]) -> str:
    return f"{function.__module__}:{function.__qualname__}"


@dataclass(frozen=True, slots=True)
class _ChildEnd:
    """Why a child ended."""

    error: Exception
    is_certain: bool
    """Whether the call under way is certainly the cause."""


class _Task:
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


class _Child:
    """One child process, with the pipes to it."""

    def __init__(self, start: ChildStart, limits: Limits) -> None:
        self._limits = limits
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

    def answer(self, tasks: list[_Task], *, in_threads: bool) -> list[_Task]:
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
    def end(self) -> _ChildEnd:
        """Why the child ended; waits for its end."""
        code = self._process.wait()
        if self._overdue:
            waited = f"it waited for {self._limits.wait_s:g} s and had no result"
            return _ChildEnd(LimitExceeded(waited), True)
        if code == -signal.SIGPROF:
            used = f"it needed more than {self._limits.cpu_s:g} s of processor time"
            return _ChildEnd(LimitExceeded(used), True)
        if code < 0:  # a fault of its own, or the system's: out of memory, for example
            return _ChildEnd(
                LimitExceeded(f"its process was ended by signal {-code}, twice"), False
            )
        return _ChildEnd(ChildEnded(f"a child process ended with exit code {code}"), True)

    def _send(self, message: object) -> None:
        assert self._process.stdin is not None
        send(self._process.stdin, message)

    def _receive(self, wait_s: float) -> ChildResult | None:
        """The next answer, after up to `wait_s` seconds without work of the child.

        `None` if the child ended or is overdue.
        """
        size = self._read_bytes(8, wait_s)
        body = None if size is None else self._read_bytes(int.from_bytes(size, "big"), wait_s)
        if body is None:
            return None
        answer = pickle.loads(body)  # noqa: S301 - of a program of ours
        assert isinstance(answer, ChildResult)
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


_POOLS: WeakSet[BoundedPool] = WeakSet()


@atexit.register
def _close_all() -> None:
    for pool in list(_POOLS):
        pool.close()


def _reset_all() -> None:
    for pool in list(_POOLS):
        pool._reset()


os.register_at_fork(after_in_child=_reset_all)
