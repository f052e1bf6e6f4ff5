"""Child processes that call one function on untrusted input, and can be killed.

The kernel ends a child that uses more processor time than a call may (`ITIMER_PROF`), in the
middle of C code too, however busy the machine is otherwise. Its address space is bounded as
well, and so is the time that a call waits. A child that ended is replaced when the next call
comes. Children end with the process that started them, by the end of their input.
"""

from __future__ import annotations

import atexit
import math
import os
import pickle
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any
from weakref import WeakSet

from failproof_es.support.bounded.messages import ChildStart
from failproof_es.support.bounded.running_child import Limits, PooledCall, RunningChild

_MOST_AT_ONCE = 64
"""Most calls in one message to a child: a round trip costs more than a short call."""
_PATIENCE_S = 0.3
"""Seconds for which calls wait, while a child is ready, before the pool starts another child: the
processor time that a child of a grader needs to start."""
_MOST_START_S = 5.0
"""Seconds for which calls wait while the first child starts, before the pool starts another."""
_IDLE_S = 60.0
"""Seconds without a call after which a child ends."""


class BoundedPool:
    """A pool of at most `processes` children that call `function(*context, argument)`.

    Thread-safe. The functions and the classes of arguments are importable by name.
    `prepare(*context)` is called once in each child, without a limit of processor time, to import
    what `function` needs. A further child starts when calls have waited for as long as a child
    takes to start: a few short calls need one child only. `in_threads` is for a function that waits
    for other programs: a child then calls it for several arguments at once. `nice` is added to the
    niceness of the children.
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
        lock = threading.RLock()
        self._changed = threading.Condition(lock)
        self._demand_changed = threading.Condition(lock)
        """Notified when no call waits any more, and when a child becomes ready."""
        self._waiting: deque[PooledCall] = deque()
        self._idle = 0
        self._workers = 0
        self._children: set[RunningChild] = set()
        self._ready: set[RunningChild] = set()

    def submit(self, argument: object) -> Future[Any]:
        """Call the function with `argument` in a child; return a future of the result.

        Raises `RuntimeError` if the pool is closed. The future may raise `LimitExceeded`,
        `ChildEnded` if the child exited by itself, and what the function raised.
        """
        task = PooledCall(pickle.dumps(argument, pickle.HIGHEST_PROTOCOL), Future())
        with self._changed:
            if self._closed:
                raise RuntimeError("the pool is closed")
            self._waiting.append(task)
            if self._idle >= len(self._waiting):
                self._changed.notify()
            elif self._workers < self._most:
                self._workers += 1
                is_first = self._workers == 1
                worker = _ChildWorker(self, in_threads=self._in_threads, is_first=is_first)
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
            self._demand_changed.notify_all()
        for task in waiting:
            task.future.cancel()
        for child in children:
            child.kill()

    def has_ready_child(self) -> bool:
        """Whether a living child has imported the function."""
        with self._changed:
            return any(child.is_alive() for child in self._ready)

    # -- for its workers -----------------------------------------------------------------------

    def needs_another(self) -> bool:
        """Whether calls go on waiting for `_PATIENCE_S` although a child is ready.

        Returns false as soon as no call waits: the worker that asked is to end.
        """
        with self._changed:
            self._demand_changed.wait_for(
                lambda: self.has_ready_child() or not self._waiting, _MOST_START_S
            )
            self._demand_changed.wait_for(lambda: not self._waiting, _PATIENCE_S)
            if not self._waiting:
                self._workers -= 1
            return bool(self._waiting)

    def take(self) -> list[PooledCall]:
        """The next calls for a worker, after waiting for some; empty if the worker is to end.

        At most 64, and only its share if other workers may help. A worker ends when the pool is
        closed or had no call for a minute.
        """
        tasks: list[PooledCall] = []
        while not tasks:
            with self._changed:
                self._idle += 1
                self._changed.wait_for(lambda: self._waiting or self._closed, _IDLE_S)
                self._idle -= 1
                if self._closed or not self._waiting:
                    self._workers -= 1
                    return []
                tasks = [self._waiting.popleft() for _ in range(self._share())]
                if not self._waiting:
                    self._demand_changed.notify_all()
            tasks = [task for task in tasks if task.future.set_running_or_notify_cancel()]
        return tasks

    def _share(self) -> int:
        """How many of the waiting calls a worker takes at once."""
        workers = 1 if self._in_threads else self._most
        return min(math.ceil(len(self._waiting) / workers), _MOST_AT_ONCE)

    def begin_child(self) -> RunningChild:
        """Start a child. Raises `RuntimeError` if the pool is closed."""
        child = RunningChild(self._start, self._limits, self._add_ready)
        with self._changed:
            self._children.add(child)
            closed = self._closed
        if closed:
            self.end_child(child)
            raise RuntimeError("the pool is closed")
        return child

    def _add_ready(self, child: RunningChild) -> None:
        with self._changed:
            self._ready.add(child)
            self._demand_changed.notify_all()

    def end_child(self, child: RunningChild) -> None:
        """Kill a child and the processes that it started."""
        with self._changed:
            self._children.discard(child)
            self._ready.discard(child)
        child.kill()
        child.close()


class _ChildWorker:
    """A thread of a pool: it has one child at a time, and starts another when that has ended."""

    def __init__(self, pool: BoundedPool, *, in_threads: bool, is_first: bool) -> None:
        self._pool = pool
        self._in_threads = in_threads
        self._is_first = is_first
        self._child: RunningChild | None = None

    def work(self) -> None:
        """Send calls to the child until the pool has no more.

        Only the first worker of a pool sends at once; another one waits until it is needed.
        """
        if not self._is_first and not self._pool.needs_another():
            return
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

    def _after_end(self, unanswered: list[PooledCall]) -> list[PooledCall]:
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

    def _living(self) -> RunningChild:
        """The worker's child, which is alive; a new one if the last one has ended."""
        if self._child is not None and not self._child.is_alive():
            self._pool.end_child(self._child)
            self._child = None
        if self._child is None:
            self._child = self._pool.begin_child()
        return self._child


def _name(function: Callable[..., Any]) -> str:
    return f"{function.__module__}:{function.__qualname__}"


_POOLS: WeakSet[BoundedPool] = WeakSet()


@atexit.register
def _close_all() -> None:
    for pool in list(_POOLS):
        pool.close()


def _reset_all() -> None:
    for pool in list(_POOLS):
        pool._reset()


os.register_at_fork(after_in_child=_reset_all)
