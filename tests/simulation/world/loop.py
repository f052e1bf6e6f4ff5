"""An event loop whose time is simulated and whose order is drawn from a seed.

Time stands still while callbacks run and jumps to the next timer when none is ready. Any ready
callback may be the next one. Threads do not exist: what is given to an executor runs in the loop,
at a moment that is drawn. Callbacks belong to a simulated process, and one that is killed runs
none of them any more.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import sys
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass, field
from itertools import count
from random import Random
from types import CoroutineType
from typing import Any, TypeVar

T = TypeVar("T")

_MOST_STEPS = 250_000
_STEPS_AT_ONCE = 8
_MOST_CLOSINGS = 500


class Stuck(Exception):
    """Nothing is ready and no timer runs, or there is no end: somebody waits for ever."""


class TryAgain(BaseException):
    """What an executor's function raises to be called again, from its beginning, after a while.

    It stands for a thread that sleeps: what the function did before is kept in the job's `results`.
    """

    def __init__(self, after_s: float) -> None:
        self.after_s = after_s


@dataclass(eq=False)
class Process:
    """A simulated process: what runs in it, and whether it still does."""

    name: str
    skew_s: float = 0.0
    """By how much its clock is ahead of the server's."""
    dead: bool = False
    stopped: bool = False
    """As by SIGSTOP: nothing of it runs until it is continued."""
    cut_until_s: float = 0.0
    """As by a partition: until then it cannot reach the log."""
    tasks: list[asyncio.Task[Any]] = field(default_factory=list)
    """Held until the history is over: an object that is collected may run code."""
    held: list[Handle] = field(default_factory=list)
    """What became ready while it was stopped."""
    context: Context = field(default_factory=Context)
    """Of its main task, and of what its threads call."""


@dataclass(eq=False)
class Job:
    """A function that was given to an executor."""

    function: Callable[[], Any]
    done: asyncio.Future[Any]
    owner: Process | None
    tries: int = 0
    began_at: float = 0.0
    results: list[Any] = field(default_factory=list)
    """What its calls gave that went through, so that they are not repeated with it."""
    next_result: int = 0


class Handle:
    """As `asyncio.Handle`, which takes twice as long to make and to run."""

    __slots__ = ("args", "call", "context", "is_cancelled", "owner")

    def __init__(
        self, call: Callable[..., object], args: tuple[Any, ...], context: Context | None
    ) -> None:
        self.call = call
        self.args = args
        self.context = copy_context() if context is None else context
        self.owner: Process | None = self.context.get(PROCESS)
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True

    def cancelled(self) -> bool:
        return self.is_cancelled


PROCESS: ContextVar[Process | None] = ContextVar("process", default=None)


class SimulatedLoop(asyncio.AbstractEventLoop):
    """Drives simulated processes. `thread_delay_s` draws how long an executor lets wait."""

    def __init__(self, random: Random, thread_delay_s: Callable[[], float]) -> None:
        self.random = random
        self.now_s = 0.0
        self.steps = 0
        self.job: Job | None = None
        """The one that is being run."""
        self._thread_delay_s = thread_delay_s
        self._ready: list[Handle] = []
        self._timers: list[tuple[float, int, Handle]] = []
        self._order = count()
        self._plans: list[tuple[int, int, Callable[[], None]]] = []
        self._over = False
        self._cleanup: list[asyncio.Task[Any]] = []
        """What the ends of the processes began: it is not carried out."""
        self._nobody = Context()

    # -- for whoever makes the history -----------------------------------------------------

    def after_steps(self, steps: int, call: Callable[[], None]) -> None:
        """Call it between two steps, so many from now."""
        heapq.heappush(self._plans, (self.steps + steps, next(self._order), call))

    def outside(self, delay_s: float, call: Callable[[], None]) -> None:
        """Call it later, on behalf of no process: nobody's death keeps it from happening."""
        handle = Handle(call, (), self._nobody)
        heapq.heappush(self._timers, (self.now_s + delay_s, next(self._order), handle))

    def spawn(self, process: Process, main: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Begin the main task of a process."""
        context = process.context
        context.run(PROCESS.set, process)
        return context.run(self.create_task, main, name=process.name, context=context)

    def kill(self, process: Process) -> None:
        """As by SIGKILL: nothing of it runs any more, not even what cleans up."""
        process.dead = True

    def stop_process(self, process: Process, for_s: float) -> None:
        """As by SIGSTOP, and SIGCONT after a while."""
        process.stopped = True
        self.outside(for_s, lambda: self._continue(process))

    def run_until(self, reached: Callable[[], bool]) -> None:
        """Run until this is so, or a few steps on. Raises `Stuck`."""
        asyncio._set_running_loop(self)
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(finalizer=lambda generator: None)  # its process may be dead
        ready, plans, draw = self._ready, self._plans, self.random.random
        try:
            while not reached():
                for _ in range(_STEPS_AT_ONCE):
                    self.steps += 1
                    while plans and plans[0][0] <= self.steps:
                        heapq.heappop(plans)[2]()
                    if not ready:
                        self._advance()
                        continue
                    chosen = int(draw() * len(ready))
                    handle = ready[chosen]
                    ready[chosen] = ready[-1]
                    ready.pop()
                    owner = handle.owner
                    if handle.is_cancelled:
                        continue
                    if owner is not None and (owner.dead or owner.stopped):
                        owner.held.append(handle)  # of a dead one, too: what it refers to lives on
                    else:
                        handle.context.run(handle.call, *handle.args)
                if self.steps > _MOST_STEPS:
                    raise Stuck(f"no end after {_MOST_STEPS} steps")
        finally:
            sys.set_asyncgen_hooks(*hooks)
            asyncio._set_running_loop(None)

    def dispose(self, processes: list[Process]) -> None:
        """End what is left of the processes. The history is over: nothing of it counts."""
        self._over = True
        self._ready.clear()
        self._timers.clear()
        # What their cleanup begins is begun in this loop, and closed with it. Without a running
        # loop asyncio would keep it in a real one, from which it warns when that is collected.
        asyncio._set_running_loop(self)
        try:
            for process in processes:
                for task in process.tasks:
                    if not task.done():
                        _close(task)
                process.tasks.clear()
                process.held.clear()
            while self._cleanup:
                _close(self._cleanup.pop())
        finally:
            asyncio._set_running_loop(None)

    # -- the loop --------------------------------------------------------------------------

    def _advance(self) -> None:
        """Let the time jump to the next timer, and make ready whatever is due by then. What happens
        outside of all processes happens at once."""
        timers = self._timers
        while timers:
            when, _, handle = heapq.heappop(timers)
            owner = handle.owner
            if handle.is_cancelled or (owner is not None and owner.dead):
                continue
            if when > self.now_s:
                self.now_s = when
            if owner is None:
                handle.context.run(handle.call)
                return
            self._ready.append(handle)
            while timers and timers[0][0] <= self.now_s:
                self._ready.append(heapq.heappop(timers)[2])
            return
        if self._plans:
            self.steps = max(self.steps, self._plans[0][0])
            return
        raise Stuck("nothing is ready and no timer runs")

    def _continue(self, process: Process) -> None:
        process.stopped = False
        if not process.dead:
            self._ready += process.held
            process.held.clear()

    def time(self) -> float:
        return self.now_s

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> Handle:
        handle = Handle(callback, args, context)
        if not self._over:
            self._ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon  # type: ignore[assignment]

    def call_later(  # type: ignore[override]
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> Handle:
        return self.call_at(self.now_s + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> Handle:
        handle = Handle(callback, args, context)
        if not self._over:
            heapq.heappush(self._timers, (when, next(self._order), handle))
        return handle

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(  # type: ignore[override]
        self,
        coro: Coroutine[Any, Any, T],
        *,
        name: str | None = None,
        context: Context | None = None,
    ) -> asyncio.Task[T]:
        task = asyncio.Task(coro, loop=self, name=name, context=context)
        owner = PROCESS.get() if context is None else context.get(PROCESS)
        if self._over:
            self._cleanup.append(task)
        elif owner is not None:
            owner.tasks.append(task)
        return task

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        done: asyncio.Future[T] = self.create_future()
        function = func if not args else lambda: func(*args)
        job = Job(function, done, PROCESS.get(), began_at=self.now_s)
        self.outside(self._thread_delay_s(), lambda: self._run(job))
        return done

    def _run(self, job: Job) -> None:
        """Run all of it at this moment; its caller hears of it some time later."""
        job.tries += 1
        owner = job.owner
        if owner is not None and owner.dead and (job.tries > 1 or self.random.random() < 0.5):
            return  # a dead process tries nothing again; what it sent may have arrived
        if owner is not None and owner.stopped and job.tries > 1:
            self.outside(1.0, lambda: self._run(job))
            return
        self.job, job.next_result = job, 0
        try:
            result, error = job.function(), None
        except TryAgain as again:
            self.outside(again.after_s, lambda: self._run(job))
            return
        except BaseException as raised:
            result, error = None, raised
        finally:
            self.job = None
        self.outside(self._thread_delay_s(), lambda: _settle(job.done, result, error))

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return self._over

    def get_debug(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not self._over and "handle" in context and error is not None:
            raise error  # a callback failed

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        self.call_exception_handler(context)


def _settle(done: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if done.done():
        return
    if error is None:
        done.set_result(result)
    else:
        done.set_exception(error)


def _close(task: asyncio.Task[Any]) -> None:
    """Unwind the coroutine of a task that will not go on. Its cleanup may wait: it is not waited
    for.

    The innermost coroutine comes first, each until it has ended. If the outermost was closed and
    one within waited, all around it would end and leave that one, to warn when it is collected.
    """
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    outermost = task.get_coro()
    assert isinstance(outermost, CoroutineType)
    for _ in range(_MOST_CLOSINGS):
        if outermost.cr_frame is None:
            return
        innermost = outermost
        while isinstance(within := innermost.cr_await, CoroutineType) and within.cr_frame:
            innermost = within
        with contextlib.suppress(BaseException):
            innermost.close()
