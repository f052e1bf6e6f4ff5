"""Tunes Python's garbage collector and its threads while a run is driven."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Iterator

_SWITCH_S = 0.0005


def freeze_objects(*, collect: bool) -> None:
    """Exclude all existing objects from later garbage collections.

    `collect`: collect the garbage of earlier runs first, which walks all objects of the process.
    """
    if collect:
        gc.unfreeze()
        gc.collect()
    gc.freeze()


@contextlib.contextmanager
def tuned_python() -> Iterator[None]:
    """Keep memory flat, and let the thread that commits run soon.

    Existing objects are frozen, so a full garbage collection walks only the objects of the run and
    no imported modules. It is cheap, and can run often. The journal's thread needs the interpreter
    several times for each commit, each time for moments. With Python's default it would wait up to
    5 ms each time, and all evaluations wait for the commit.
    """
    thresholds, switch_s = gc.get_threshold(), sys.getswitchinterval()
    gc.freeze()
    gc.set_threshold(10_000, 3, 3)
    sys.setswitchinterval(_SWITCH_S)
    try:
        yield
    finally:
        sys.setswitchinterval(switch_s)
        gc.set_threshold(*thresholds)
        gc.unfreeze()
