"""The thread that renews a worker's leases on time, however busy the worker's event loop is."""

from __future__ import annotations

import threading
from collections.abc import Callable

from failproof_es.core.sharding.decisions import LEASE_PARTS
from failproof_es.store.writing.lease import ShardLeases
from failproof_es.support import clock

LISTEN_S = 0.25
"""Seconds between checks whether its session was cut off: others take a worker without a session
for dead."""


def renew_until(
    released: threading.Event, leases: ShardLeases, lease_s: float, renew: Callable[[], None]
) -> None:
    """Start a thread that calls `renew` several times in `lease_s` seconds until `released` is set,
    and at once if the session of `leases` was cut off."""

    def keep() -> None:
        period_s = lease_s / LEASE_PARTS
        renew_at = clock.monotonic_s() + period_s
        while not released.wait(min(LISTEN_S, period_s)):
            if clock.monotonic_s() >= renew_at or leases.was_cut_off():
                renew()
                renew_at = clock.monotonic_s() + period_s

    threading.Thread(target=keep, name="leases", daemon=True).start()
