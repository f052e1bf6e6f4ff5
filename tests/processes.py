"""Processes that may end while they are looked at."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import psutil


def children_with(
    name: str, parent: int | None = None, *, recursive: bool = False
) -> list[psutil.Process]:
    """The children of a process (`None`: this one) with this argument, or this file as one.

    One whose command line cannot be read any more has ended.
    """
    found = []
    for child in psutil.Process(parent).children(recursive=recursive):
        with contextlib.suppress(psutil.Error):
            if any(name == Path(argument).name for argument in child.cmdline()):
                found.append(child)
    return found


def wait_until_ended(process: psutil.Process, longest_s: float) -> None:
    """Wait until a process that is nobody's child has ended; fails after so many seconds."""
    end = time.monotonic() + longest_s
    with contextlib.suppress(psutil.NoSuchProcess):
        while process.status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < end
            time.sleep(0.05)
