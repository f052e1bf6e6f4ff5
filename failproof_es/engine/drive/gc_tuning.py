"""Tunes Python's cyclic garbage collector while a run is driven."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def tuned_gc() -> Iterator[None]:
    """Keep the cyclic collector from walking, again and again, all that was imported.

    What exists now is frozen; a full collection then only walks what the run made since,
    which is little, so it may come often enough for memory to stay flat.
    """
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(10_000, 3, 3)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
