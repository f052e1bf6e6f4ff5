"""The event loop that commands run in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """`uvloop`'s, which needs less processor time, or asyncio's where it is not installed.

    Nothing that is recorded depends on which it is.
    """
    try:
        import uvloop
    except ImportError:  # no wheels for this platform
        return asyncio.new_event_loop
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


def run(work: Coroutine[Any, Any, T]) -> T:
    """Like `asyncio.run`."""
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(work)
