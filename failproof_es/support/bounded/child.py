"""The program of a child of `process`: reads calls from its input, and answers each.

It exits when its input ends, even in the middle of a call, so that it never outlives its parent.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import queue
import resource
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import IO, Any

from failproof_es.support.bounded.messages import (
    Call,
    ChildReady,
    ChildResult,
    LimitExceeded,
    declare_bounded,
    send,
)

THREADS = 16
"""More than there are cores: the threads wait for other programs."""


def main() -> None:
    """Read calls from standard input and answer each on standard output, until the input ends."""
    calls: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    source = os.fdopen(os.dup(0), "rb")
    sink = os.fdopen(os.dup(1), "wb")
    _close_standard_streams()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends the child
    first = _frame(source)
    if first is None:
        return
    threading.Thread(target=_read_calls, args=(source, calls), daemon=True).start()
    sys.path[:], start = pickle.loads(first)  # noqa: S301 - of our own parent
    os.nice(start.nice)
    with contextlib.suppress(ValueError, OSError):  # a host may have a lower limit already
        resource.setrlimit(resource.RLIMIT_AS, (start.memory_bytes, start.memory_bytes))
    declare_bounded()
    function = _prepare_function(start.function, start.prepare, start.context)
    send(sink, ChildReady())
    while True:
        _answer(function, start.context, pickle.loads(calls.get()), sink)  # noqa: S301


def _prepare_function(
    name: str, prepare: str | None, context: tuple[Any, ...]
) -> Callable[..., Any]:
    """The function named `name` (`MODULE:NAME`), after calling `prepare(*context)` once.

    If the import or the preparation fails, a function that raises that error at each call.
    """
    try:
        function = _function(name)
        if prepare is not None:
            _function(prepare)(*context)
    except Exception as raised:
        error = raised

        def failing(*_: Any) -> Any:
            raise error

        return failing
    return function


def _answer(
    function: Callable[..., Any], context: tuple[Any, ...], call: Call, sink: IO[bytes]
) -> None:
    def answer(place: int) -> ChildResult:
        try:
            value = function(*context, pickle.loads(call.arguments[place]))  # noqa: S301
            return ChildResult(place, False, pickle.dumps(value, pickle.HIGHEST_PROTOCOL))
        except MemoryError:
            return ChildResult(
                place, True, _pickled(LimitExceeded("it needed more memory than it may use"))
            )
        except BaseException as error:
            return ChildResult(place, True, _pickled(error))

    places = range(len(call.arguments))
    if call.in_threads and len(places) > 1:
        signal.setitimer(signal.ITIMER_PROF, call.cpu_s)
        with ThreadPoolExecutor(THREADS) as threads:
            for result in threads.map(answer, places):
                send(sink, result)
    else:
        for place in places:
            signal.setitimer(signal.ITIMER_PROF, call.cpu_s)
            send(sink, answer(place))
    signal.setitimer(signal.ITIMER_PROF, 0)


def _pickled(error: BaseException) -> bytes:
    """The pickled exception; if it cannot be pickled, a pickled `RuntimeError` with its text."""
    try:
        pickle.loads(sent := pickle.dumps(error, pickle.HIGHEST_PROTOCOL))  # noqa: S301
    except Exception:
        sent = pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
    return sent


def _read_calls(source: IO[bytes], calls: queue.SimpleQueue[bytes]) -> None:
    while (frame := _frame(source)) is not None:
        calls.put(frame)
    os._exit(0)  # also in the middle of a call: nobody waits for its answer


def _frame(source: IO[bytes]) -> bytes | None:
    """The bytes of the next message without its length; `None` at the end of the input."""
    size = source.read(8)
    if len(size) < 8:
        return None
    count = int.from_bytes(size, "big")
    body = source.read(count)
    return body if len(body) == count else None


def _close_standard_streams() -> None:
    """Keep the output of called functions out of the stream of answers."""
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)
    sys.stdin, sys.stdout = io.StringIO(), io.StringIO()


def _function(name: str) -> Callable[..., Any]:
    module, _, attribute = name.partition(":")
    function: Callable[..., Any] = getattr(import_module(module), attribute)
    return function


if __name__ == "__main__":
    main()
