"""Tunes Python's garbage collector and its threads while a run is driven."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Iterator

_SWITCH_S = 0.0005


def freeze_objects() -> None:
    """Let collections of cycles walk none of the objects that exist now.

    For who works on many runs: what earlier ones left behind is collected before.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


@contextlib.contextmanager
def tuned_python() -> Iterator[None]:
    """Keep memory flat, and let the thread that commits have its turn soon.

    Existing objects are frozen. A full collection of cycles then walks only what the run made
    since, which is little, and none of the imported modules. So it can run often.

    The journal's thread needs the interpreter for moments only, several times for each commit.
    Each time it would wait for up to 5 ms, and all evaluations wait for the commit.
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
