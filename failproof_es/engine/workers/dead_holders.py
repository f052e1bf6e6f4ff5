"""Finds shards whose holder died, sooner than their leases end: its session is gone.

The session is a hint. A holder that lives and was cut off shows its new session within
`worker.LISTEN_S`, so a shard counts as without a holder once two looks have found the same lease
without its session. Who may write is still said by the epoch: a holder that lives and was slower
can waste a call, and never write.
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

LOOK_EVERY_S = 0.5
"""A dead holder's shards are in the queue after two looks."""


class DeadHolders:
    """The leases that the last look found without a session."""

    def __init__(self, reader: RetryingReader) -> None:
        self._reader = reader
        self._before: frozenset[tuple[ShardId, int]] = frozenset()

    async def look(self, runs: Iterable[UUID]) -> list[ShardId]:
        """Put in the queue what a dead holder had of these runs; return what was put there.

        Raises as `RetryingReader.read` does, and `psycopg.Error`.
        """
        sessionless = await self._reader.read(_without_session, list(runs))
        died, self._before = died_between(self._before, sessionless), sessionless
        return await self._reader.read(enqueue, died) if died else []


def _without_session(connection: Connection, runs: list[UUID]) -> frozenset[tuple[ShardId, int]]:
    """The shards, each with the epoch of its lease."""
    rows = connection.execute(query("dead_leases"), {"runs": runs})
    return frozenset((ShardId(run_id, shard), epoch) for run_id, shard, epoch in rows)
