"""A fair semaphore: a run's limit of requests in flight, shared fairly by its servers."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict, deque


class FairSemaphore:
    """Whoever waits for one gets the next that is free, the server with the fewest first.

    First come, first served would let a server that answers slowly, or not at all, take all of
    them: the others would only be as fast as it is.
    """

    def __init__(self, total: int) -> None:
        self._free = total
        self._taken: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = defaultdict(deque)

    @property
    def is_available(self) -> bool:
        """Whether one could be taken now without waiting."""
        return self._free > 0

    async def acquire(self, server: str) -> None:
        """Wait for one and take it. Whoever takes it gives it back, and no one else does."""
        if self._free:
            self._free -= 1
            self._taken[server] += 1
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiting[server].append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled():  # it was ours already
                self.release(server)
            raise

    def release(self, server: str) -> None:
        """Give the slot to a waiter, or leave it free."""
        self._taken[server] -= 1
        for each in sorted(self._waiting, key=self._taken.__getitem__):
            while queue := self._waiting[each]:
                waiter = queue.popleft()
                if not waiter.done():
                    self._taken[each] += 1
                    waiter.set_result(None)
                    return
        self._free += 1
