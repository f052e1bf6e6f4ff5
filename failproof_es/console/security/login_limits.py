"""Limits of logins, by name and by address."""

from __future__ import annotations

import math
import time
from ipaddress import IPv6Address, ip_address, ip_network

from limits import RateLimitItem, RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

BY_NAME = RateLimitItemPerMinute(10, 10, namespace="name")
"""Ten attempts in ten minutes, from whichever addresses. A login that succeeds forgets them."""
BY_ADDRESS = RateLimitItemPerMinute(60, 10, namespace="address")
"""Sixty attempts in ten minutes: behind a proxy, all people have one address."""


class LoginLimits:
    """Counts the attempts of one server, in its memory."""

    def __init__(self) -> None:
        self._limiter = MovingWindowRateLimiter(MemoryStorage())

    def seconds_to_wait(self, name: str, address: str) -> int:
        """Count an attempt: 0 if it may go on, else the seconds until the next one may.

        An attempt that may not go on does not count.
        """
        keys = ((BY_ADDRESS, _network(address)), (BY_NAME, name))
        for limit, key in keys:
            if not self._limiter.test(limit, key):
                return self._seconds_until_reset(limit, key)
        for limit, key in keys:
            if not self._limiter.hit(limit, key):  # another thread took the last one
                return self._seconds_until_reset(limit, key)
        return 0

    def forget(self, name: str) -> None:
        """Forget the attempts of a name that logged in."""
        self._limiter.clear(BY_NAME, name)

    def _seconds_until_reset(self, limit: RateLimitItem, key: str) -> int:
        reset_at = self._limiter.get_window_stats(limit, key).reset_time
        return max(math.ceil(reset_at - time.time()), 1)


def _network(address: str) -> str:
    """The address; of IPv6 its network of 64 bits, all of whose addresses one host can have."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return address
    mapped = parsed.ipv4_mapped
    return str(mapped or ip_network((int(parsed), 64), strict=False))
