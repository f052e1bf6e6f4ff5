"""The journal under the lease of a shard: it appends only while the lease is held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from failproof_es.events import Event
from failproof_es.store.writing.journal import Journal
from failproof_es.store.writing.lease import ShardLease


@dataclass(frozen=True, slots=True)
class LeasedJournal:
    """Appends events under the lease of one shard. Appends under other leases share its commits."""

    journal: Journal
    lease: ShardLease

    async def append(self, *events: Event) -> Sequence[int]:
        """Record `events` together; return their positions once they are durable.

        Raises `LeaseLost` if another process took the shard over, else as `Journal.append` does.
        """
        return await self.journal.append(*events, lease=self.lease)
