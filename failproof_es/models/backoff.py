"""Computes the backoff: the wait before a retry."""

from __future__ import annotations

from tenacity import RetryCallState, Retrying
from tenacity.wait import wait_exponential, wait_random

LONGEST_S = 60.0
_SHORTEST_DEFERRAL_MS = 100
"""The shortest wait after a server declined requests, whatever is configured."""


def wait_s(
    failures: int, delay_ms: int, retry_after_s: float | None, *, deferred: bool = False
) -> float:
    """Seconds to wait after the n-th failure: exponential back-off with jitter.

    Never earlier than the provider's `Retry-After` allows, and never longer than a minute
    unless the provider asks for it. `deferred`: the last failure says that it wants no requests.
    """
    delay_s = max(delay_ms, _SHORTEST_DEFERRAL_MS if deferred else 0) / 1000
    policy = wait_exponential(multiplier=delay_s) + wait_random(0, delay_s / 2)
    state = RetryCallState(Retrying(), None, (), {})
    state.attempt_number = failures
    return max(min(policy(state), LONGEST_S), retry_after_s or 0.0)
