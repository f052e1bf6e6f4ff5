"""Recognises faults of this machine that look like faults of a model's server. Pure."""

from __future__ import annotations

import errno

from failproof_es.models.protocol import ModelError

KIND = "local_trouble"

_EXHAUSTED = {
    errno.EMFILE: "this process has no file descriptor left: raise the limit (`ulimit -n`) or "
    "lower `execution.parallel_workers`",
    errno.ENFILE: "this machine has no file descriptor left",
    errno.ENOMEM: "this machine has no memory left",
    errno.ENOBUFS: "this machine has no network buffers left",
    errno.EADDRNOTAVAIL: "this machine has no free network port left: lower "
    "`execution.parallel_workers`, or wait until closed connections are forgotten",
}
_DEEPEST = 20


def local_trouble(error: BaseException) -> ModelError | None:
    """The error as a `ModelError` that halts the run, if this machine caused it; else `None`.

    Such an error says nothing about the provider, so it must not use up one of the evaluation's
    retries.
    """
    seen: BaseException | None = error
    for _ in range(_DEEPEST):
        if seen is None:
            return None
        # httpx keeps only the cause of the error that it wraps.
        if isinstance(seen, OSError) and (why := _EXHAUSTED.get(seen.errno or 0)):
            return ModelError(KIND, why, "halting")
        seen = seen.__cause__ or seen.__context__
    return None
