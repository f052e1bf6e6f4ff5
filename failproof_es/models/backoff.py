"""Computes the backoff: the wait before a retry."""

from __future__ import annotations

from tenacity import RetryCallState, Retrying
from tenacity.wait import wait_exponential, wait_random

LONGEST_S = 60.0
_SHORTEST_DEFERRAL_MS = 100
"""The shortest wait after a server declined requests, even if a shorter one is configured."""


def wait_s(
    failures: int, delay_ms: int, retry_after_s: float | None, *, deferred: bool = False
) -> float:
    """Seconds to wait after the n-th failure (`failures`): exponential back-off with jitter.

    At least the provider's `Retry-After`, and otherwise at most 60 s. `deferred`: the provider
    declined the request, so that the wait is at least 100 ms.
    """
    delay_s = max(delay_ms, _SHORTEST_DEFERRAL_MS if deferred else 0) / 1000
    policy = wait_exponential(multiplier=delay_s) + wait_random(0, delay_s / 2)
    state = RetryCallState(Retrying(), None, (), {})
    state.attempt_number = failures
    return max(min(policy(state), LONGEST_S), retry_after_s or 0.0)
