"""Which workers there are: who, where, since when. For people: it decides nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import orjson
import psycopg

from failproof_es.engine.identity import code_version, current_host, current_user
from failproof_es.problems import InvalidInput
from failproof_es.store.reading.reader import Connection
from failproof_es.store.store import Store
from failproof_es.store.writing.recorder import query
from failproof_es.support import clock
from failproof_es.support.untrusted_text import one_line, shortened

FORGOTTEN_AFTER_S = 86_400.0
"""A worker that was heard of last so long ago is not listed any more."""
_LONGEST_REASON = 1_000
KEY_DIGITS = 8
"""So many digits of a provider key are shown, as `list_limits` has them."""
GONE_AFTER_S = 30.0
"""A worker that was heard of last so long ago is shown as gone."""


@dataclass(frozen=True, slots=True)
class WorkerRecord:
    """A worker, as it told of itself, and what it holds now."""

    worker_id: UUID
    holder: str
    """What its leases say of it."""
    who: str
    host: str
    process: int
    code_version: str
    since: datetime
    heartbeat: datetime
    silent_s: float
    """Seconds since it was heard of last, by the database's clock."""
    finished: int
    """Evaluations that ended there."""
    per_second: float | None
    """Of them, lately."""
    shards: Sequence[str]
    """The shards that it holds: run number, shard."""
    refuses: Sequence[str]
    """The runs that it leaves to others, each with its reason."""

    @property
    def gone(self) -> bool:
        """Whether it was not heard of for so long that it must be gone, or cut off."""
        return self.silent_s > GONE_AFTER_S


class Presence:
    """One worker's own row. Nothing depends on it: what cannot be told is not told."""

    def __init__(
        self, store: Store, worker_id: UUID, holder: str, refusals: Mapping[UUID, InvalidInput]
    ) -> None:
        """`refusals` are the runs that it leaves to others, as they are whenever it tells."""
        self.finished = 0
        self._refusals = refusals
        self._store = store
        self._worker_id = worker_id
        self._holder = holder
        self._last = (clock.monotonic_s(), 0)

    def tell(self) -> None:
        """Tell that it lives, and how much is done."""
        now, (then, before) = clock.monotonic_s(), self._last
        rate = (self.finished - before) / (now - then) if now - then >= 1 else None
        if rate is not None:
            self._last = now, self.finished
        self._execute(
            "tell_worker",
            {
                "worker_id": self._worker_id,
                "holder": self._holder,
                "who": current_user(),
                "host": current_host(),
                "process": os.getpid(),
                "code_version": code_version(),
                "finished": self.finished,
                "per_second": rate,
                "refusals": orjson.dumps(self._reasons()).decode(),
                "forgotten_after_s": FORGOTTEN_AFTER_S,
            },
        )

    def _reasons(self) -> dict[str, str]:
        return {
            str(run_id): shortened(one_line("; ".join(map(str, error.problems))), _LONGEST_REASON)
            for run_id, error in list(self._refusals.items())
        }

    def leave(self) -> None:
        """Take the row away."""
        self._execute("forget_worker", {"worker_id": self._worker_id})

    def _execute(self, name: str, parameters: dict[str, object]) -> None:
        with suppress(psycopg.Error), self._store.lend() as connection:
            connection.execute(query(name), parameters)


def list_workers(connection: Connection) -> list[WorkerRecord]:
    """The workers that told of themselves within a day and did not leave, the oldest first."""
    rows = connection.execute(query("list_workers"), {"forgotten_after_s": FORGOTTEN_AFTER_S})
    return [WorkerRecord(*row) for row in rows]


def dead_shards(connection: Connection, run_id: UUID) -> set[str]:
    """The shards of the run whose holder has died, as `WorkerRecord.shards` names them."""
    rows = connection.execute(
        "SELECT n.run_number || '/' || d.dead_shard FROM failproof.dead_leases(ARRAY[%s]) AS d "
        "JOIN failproof.run_list AS n ON n.run_id = d.dead_run_id",
        (run_id,),
    )
    return {shard for (shard,) in rows}


@dataclass(frozen=True, slots=True)
class ShareRecord:
    """The share that a worker has of a provider key's limits; or a server that is left alone."""

    server: str
    key: str
    """The first digits of what tells its keys apart."""
    holder: str | None
    """The worker; `None` where nobody has a share and only a `Retry-After` runs."""
    concurrency: int | None
    """How many requests it may have in flight; `None` without such a limit."""
    wanted: int | None
    requests: int | None
    """How many it may still send before it asks again."""
    tokens: int | None
    waiting: bool
    """Whether something waits there."""
    held_s: float
    """For how long nobody may send anything."""


def clear_limits(connection: Connection, key: str) -> list[tuple[str, int]]:
    """End all shares of the provider keys that begin with these digits, and what their servers are
    left alone for. The server of each, and how many shares it had."""
    return list(connection.execute("SELECT * FROM failproof.clear_limits(%s)", (key,)))


def list_shares(connection: Connection) -> list[ShareRecord]:
    """Who has which share of which limits now."""
    return [ShareRecord(*row) for row in connection.execute(query("list_limits"))]


def list_holders(connection: Connection) -> dict[str, list[str]]:
    """Who drives which runs now, by the run's id: one process alone, or several workers."""
    rows = connection.execute(query("list_holders")).fetchall()
    return {str(run_id): list(holders) for run_id, holders in rows}
