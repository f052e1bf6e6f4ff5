"""Finds shards of dead holders before their leases end: the holder's session is gone.

A missing session is a hint. A live holder that was cut off shows a new session within
`renewal_thread.LISTEN_S`, on a busy machine within a second, so a holder counts as dead once two
looks have found the same lease without a session. The epoch still decides who may write: a live
holder that was slower can waste a call, and never write.
"""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from failproof_es.core.sharding.decisions import died_between
from failproof_es.core.sharding.shards import ShardId
from failproof_es.engine.drive.retrying_reader import RetryingReader
from failproof_es.engine.workers.shard_queue import enqueue
from failproof_es.store.reading.reader import Connection
from failproof_es.store.writing.recorder import query

LOOK_EVERY_S = 1.0
"""Seconds between two looks. After two, a dead holder's shards are in the queue."""


class DeadHolders:
    """Looks for shards whose holders have died.

    It remembers the leases that the last look found without a session.
    """

    def __init__(self, reader: RetryingReader) -> None:
        self._reader = reader
        self._before: frozenset[tuple[ShardId, int]] = frozenset()

    async def look(self, runs: Iterable[UUID]) -> list[ShardId]:
        """Put the shards of dead holders of these runs in the queue; return the shards put there.

        A holder counts as dead at the second look in a row without a session. Raises
        `LogUnavailable` if the server stays away, and `psycopg.Error`.
        """
        sessionless = await self._reader.read(_without_session, list(runs))
        died, self._before = died_between(self._before, sessionless), sessionless
        return await self._reader.read(enqueue, died) if died else []


def _without_session(connection: Connection, runs: list[UUID]) -> frozenset[tuple[ShardId, int]]:
    """The shards whose holder has no session, each with the epoch of its lease."""
    rows = connection.execute(query("dead_leases"), {"runs": runs})
    return frozenset((ShardId(run_id, shard), epoch) for run_id, shard, epoch in rows)
