"""What a program and its bounded children send each other: see `process`."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Any

_IS_BOUNDED = threading.Event()


def in_bounded_process() -> bool:
    """Whether this process is such a child: whatever it calls is bounded already."""
    return _IS_BOUNDED.is_set()


def declare_bounded() -> None:
    """Have `in_bounded_process` say so, once the limits of this process are set."""
    _IS_BOUNDED.set()


class LimitExceeded(Exception):
    """A call needed more than its limits allow; the text says which limit, as a sentence."""


@dataclass(frozen=True, slots=True)
class ChildStart:
    """What a child is told first."""

    function: str
    prepare: str | None
    context: tuple[Any, ...]
    nice: int
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class Call:
    """What is sent to a child: arguments for its function, and how to call it."""

    arguments: Sequence[bytes]
    """Each a pickle of its own: one that cannot be read fails alone."""
    cpu_s: float
    in_threads: bool


@dataclass(frozen=True, slots=True)
class ChildResult:
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
