"""Computes the backoff: the wait before a retry."""

from __future__ import annotations

from tenacity import RetryCallState, Retrying
from tenacity.wait import wait_exponential, wait_random

LONGEST_BACKOFF_S = 60.0
_SHORTEST_DEFERRAL_MS = 100
"""The shortest wait after a server declined requests, even if a shorter one is configured."""


def wait_s(
    failures: int, delay_ms: int, retry_after_s: float | None, *, deferred: bool = False
) -> float:
    """Seconds to wait after a failure, before the retry: exponential back-off with jitter.

    `failures` is the number of failures so far, from 1; `delay_ms` is the wait after the first one.
    The wait is at least `retry_after_s`, which the server stated, and otherwise at most 60 s.
    `deferred`: the server declined the request, so that `delay_ms` counts as at least 100 ms.
    """
    delay_s = max(delay_ms, _SHORTEST_DEFERRAL_MS if deferred else 0) / 1000
    policy = wait_exponential(multiplier=delay_s) + wait_random(0, delay_s / 2)
    state = RetryCallState(Retrying(), None, (), {})
    state.attempt_number = failures
    return max(min(policy(state), LONGEST_BACKOFF_S), retry_after_s or 0.0)
