"""A fair semaphore: a run's limit of requests in flight, shared fairly by its servers."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict, deque


class FairSemaphore:
    """A semaphore whose next free slot goes to the waiting server with the fewest slots.

    With first come, first served, a server that answers slowly or not at all would take all
    slots, and slow down the others.
    """

    def __init__(self, total: int) -> None:
        self._free = total
        self._taken: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = defaultdict(deque)

    @property
    def is_available(self) -> bool:
        """Whether a slot could be acquired now without waiting."""
        return self._free > 0

    async def acquire(self, server: str) -> None:
        """Wait for a slot and take it for a request to `server`. The caller must release it."""
        if self._free:
            self._free -= 1
            self._taken[server] += 1
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiting[server].append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled():  # the slot was taken already
                self.release(server)
            raise

    def release(self, server: str) -> None:
        """Give back a slot of `server`: to a waiting request if there is one."""
        self._taken[server] -= 1
        for waiting_server in sorted(self._waiting, key=self._taken.__getitem__):
            while queue := self._waiting[waiting_server]:
                waiter = queue.popleft()
                if not waiter.done():
                    self._taken[waiting_server] += 1
                    waiter.set_result(None)
                    return
        self._free += 1
