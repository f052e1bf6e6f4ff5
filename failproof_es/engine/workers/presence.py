"""The list of workers: who, where, since when. For people: nothing depends on it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
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
"""Seconds without a heartbeat after which a worker is no longer listed."""
_LONGEST_REASON = 1_000
KEY_DIGITS = 8
"""Number of digits of a provider key's digest that are shown, as in `list_limits`."""
GONE_AFTER_S = 30.0
"""Seconds without a heartbeat after which a worker is shown as gone."""


@dataclass(frozen=True, slots=True)
class WorkerRecord:
    """A worker, as it registered itself, and the shards that it holds now."""

    worker_id: UUID
    holder: str
    """The name of the worker in its leases."""
    who: str
    host: str
    process: int
    code_version: str
    since: datetime
    heartbeat: datetime
    silent_s: float
    """Seconds since its last heartbeat, by the database's clock."""
    finished: int
    """The number of evaluations that ended there."""
    per_second: float | None
    """The number of evaluations that ended there per second, lately."""
    shards: Sequence[str]
    """The shards that it holds: run number, shard."""
    refuses: Sequence[str]
    """The runs that it leaves to others, each with its reason."""

    @property
    def gone(self) -> bool:
        """Whether its last heartbeat is so old that it must be gone, or cut off."""
        return self.silent_s > GONE_AFTER_S


class Presence:
    """One worker's own row in the list of workers.

    Nothing depends on it, so errors of the database are ignored.
    """

    def __init__(
        self, store: Store, worker_id: UUID, holder: str, refusals: Mapping[UUID, InvalidInput]
    ) -> None:
        """`holder` is the worker's name in its leases.

        `refusals` are the runs that it leaves to others; each `tell` reads them again.
        """
        self.finished = 0
        self._refusals = refusals
        self._store = store
        self._worker_id = worker_id
        self._holder = holder
        self._last = (clock.monotonic_s(), 0)

    def tell(self) -> None:
        """Write a heartbeat to the list, with the number of evaluations that ended here."""
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
        """Remove the worker from the list."""
        self._execute("forget_worker", {"worker_id": self._worker_id})

    def _execute(self, name: str, parameters: dict[str, object]) -> None:
        with suppress(psycopg.Error), self._store.lend() as connection:
            connection.execute(query(name), parameters)


def list_workers(connection: Connection) -> list[WorkerRecord]:
    """The workers with a heartbeat in the last day that did not leave, the oldest first."""
    rows = connection.execute(query("list_workers"), {"forgotten_after_s": FORGOTTEN_AFTER_S})
    return [WorkerRecord(*row) for row in rows]


def dead_shards(connection: Connection, run_id: UUID) -> set[str]:
    """The shards of the run whose holder has died, each as `run number/shard`."""
    rows = connection.execute(
        "SELECT n.run_number || '/' || d.dead_shard FROM failproof.dead_leases(ARRAY[%s]) AS d "
        "JOIN failproof.run_list AS n ON n.run_id = d.dead_run_id",
        (run_id,),
    )
    return {shard for (shard,) in rows}


@dataclass(frozen=True, slots=True)
class ShareRecord:
    """A worker's share of a provider key's limits; or, without a share, the time for which nothing
    may be sent to a server."""

    server: str
    key: str
    """The first digits of the provider key's digest."""
    holder: str | None
    """The worker; `None` if only a `Retry-After` runs and nobody has a share."""
    concurrency: int | None
    """The number of requests that it may have in flight; `None` without such a limit."""
    wanted: int | None
    requests: int | None
    """The number of requests that it may still send before it asks again."""
    tokens: int | None
    waiting: bool
    """Whether requests wait there."""
    held_s: float
    """Seconds for which nobody may send anything."""


def clear_limits(connection: Connection, key: str) -> list[tuple[str, int]]:
    """End all shares of the limits of a key, and all waits that its server demanded.

    `key` are the first digits of the digest of one or more provider keys. Returns each key's
    server, and the number of shares that it had.
    """
    return list(connection.execute("SELECT * FROM failproof.clear_limits(%s)", (key,)))


def list_shares(connection: Connection) -> list[ShareRecord]:
    """The shares of limits that workers have now, and the waits that servers demand now."""
    return [ShareRecord(*row) for row in connection.execute(query("list_limits"))]


def list_holders(connection: Connection) -> dict[str, list[str]]:
    """The names of the processes that drive each run now, by the run's id as text: one alone, or
    several workers."""
    rows = connection.execute(query("list_holders")).fetchall()
    return {str(run_id): list(holders) for run_id, holders in rows}


@dataclass(frozen=True, slots=True)
class Undriven:
    """A run that is running by its record, and that no process drives."""

    since: datetime
    """The end of its last lease, by the database's clock: at most 15 s after its process ended. The
    start of the run if no worker ever drove it."""
    by_workers: bool
    """Whether workers may drive it."""

    @property
    def says(self) -> str:
        """Since when nobody drives the run."""
        who = "no worker drives it" if self.by_workers else "its process is gone"
        return f"{who} since {self.since.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"

    def command(self, run_number: int) -> str:
        """The command that goes on with the run."""
        return f"failproof-es {'worker' if self.by_workers else f'resume {run_number}'}"

    def describe(self, run_number: int) -> str:
        """Since when nobody drives the run, and the command that goes on with it."""
        do = "start one" if self.by_workers else "resume it"
        return f"{self.says}; {do}: `{self.command(run_number)}`"


def undriven_runs(connection: Connection, run_ids: Sequence[UUID]) -> dict[UUID, Undriven]:
    """The running runs among `run_ids` that no process drives, by run id."""
    if not run_ids:
        return {}
    rows = connection.execute(query("undriven_runs"), {"runs": list(run_ids)})
    return {run_id: Undriven(since, by_workers) for run_id, since, by_workers in rows}
