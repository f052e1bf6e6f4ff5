"""`watch` ends at a signal, whatever the main thread does at that moment."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from failproof_es.cli.watching import watch


@contextmanager
def called_at_line(number: int, handler: Any) -> Iterator[None]:
    """Call `handler` before the line of that number that runs, as a signal does."""
    lines = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal lines
        if event == "line":
            lines += 1
            if lines == number:
                handler(signal.SIGINT, None)
        return trace

    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(None)


def test_a_signal_before_any_line_of_the_wait_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def hangs(*_: object) -> None:
        raise AssertionError("the handler waits for a lock that the main thread holds")

    monkeypatch.setattr(watch, "_LOOK_S", 0.001)
    earlier = signal.signal(signal.SIGALRM, hangs)
    try:
        for number in range(1, 30):
            watching = watch._Watch(Path("run.yaml"), (), ())
            signal.alarm(5)
            with called_at_line(number, watching._on_signal):
                watching._wait()
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, earlier)
