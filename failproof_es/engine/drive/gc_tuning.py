"""Tunes Python's cyclic garbage collector while a run is driven."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def tuned_gc() -> Iterator[None]:
    """Keep the cyclic collector from walking all imported modules again and again.

    Existing objects are frozen. A full collection then walks only what the run made since, which
    is little. So it can run often enough to keep memory flat.
    """
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(10_000, 3, 3)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
