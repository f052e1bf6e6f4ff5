"""Messages between a program and its bounded children: see `process`."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Any

_IS_BOUNDED = threading.Event()


def in_bounded_process() -> bool:
    """Whether `failproof_es.support.bounded.process` started this process, so that limits apply."""
    return _IS_BOUNDED.is_set()


def declare_bounded() -> None:
    """Make `in_bounded_process` true, once the limits of this process are set."""
    _IS_BOUNDED.set()


class LimitExceeded(Exception):
    """A call needed more than its limits allow; the text says which limit, as a sentence."""


@dataclass(frozen=True, slots=True)
class ChildStart:
    """The first message to a child: the function that it calls, and its limits."""

    function: str
    prepare: str | None
    context: tuple[Any, ...]
    nice: int
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class Call:
    """A message to a child: call its function once for each argument."""

    arguments: Sequence[bytes]
    """Each argument is pickled separately: an unreadable one fails alone."""
    cpu_s: float
    in_threads: bool


@dataclass(frozen=True, slots=True)
class ChildReady:
    """A child's first message: it has imported its function and begins with the calls."""


@dataclass(frozen=True, slots=True)
class ChildResult:
    """A child's result for one argument; `place` is the argument's index in its `Call`."""

    place: int
    is_error: bool
    value: bytes
    """Pickled: the function's result, or the exception that it raised."""


def send(pipe: IO[bytes], message: object) -> None:
    """Write a message, pickled, after its length in 8 bytes.

    Raises `OSError` if the reader is gone.
    """
    body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    pipe.write(len(body).to_bytes(8, "big"))
    pipe.write(body)
    pipe.flush()
