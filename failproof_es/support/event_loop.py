"""The event loop that commands run in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """A function that creates event loops of `uvloop`, or of asyncio if that is missing.

    `uvloop` needs less processor time. Nothing that is recorded depends on the choice.
    """
    try:
        import uvloop
    except ImportError:  # no wheels for this platform
        return asyncio.new_event_loop
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine like `asyncio.run`, in a loop of `loop_factory`; return its result."""
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(work)
