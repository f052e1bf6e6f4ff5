"""What the workers of a database share beside the log: the rows that this process writes.

Each call is one short transaction on a connection of its own, so that it waits for no append.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from uuid import UUID

import psycopg

from failproof_es.core.limits import Answer, Claim, Limits, ProviderKey
from failproof_es.core.spend import Grant, Report, Spending
from failproof_es.store.connecting import connect
from failproof_es.store.writing.lease import HeldLease
from failproof_es.store.writing.recorder import LeaseLost, query

_AWAY = (psycopg.OperationalError, psycopg.errors.ReadOnlySqlTransaction)
_LEASE_LOST = "FP001"


class SharedState:
    """One connection, made when it is first needed and again after an outage. For any thread.

    Every call raises `psycopg.OperationalError` while the server is away.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._guard = threading.Lock()
        self._connection: psycopg.Connection[Any] | None = None

    def execute(self, name: str, parameters: Mapping[str, Any]) -> list[Any]:
        """The rows of `queries/<name>.sql`. Raises `LeaseLost` where it names a lease that is."""
        with self._guard:
            again = self._connection is not None
            try:
                return self._once(name, parameters)
            except _AWAY as error:
                self._disconnect()
                if not again:
                    raise psycopg.OperationalError(str(error)) from error
            try:
                return self._once(name, parameters)  # only the connection was cut, perhaps
            except _AWAY as error:
                self._disconnect()
                raise psycopg.OperationalError(str(error)) from error

    def close(self) -> None:
        """Close the connection. Idempotent."""
        with self._guard:
            self._disconnect()

    def _once(self, name: str, parameters: Mapping[str, Any]) -> list[Any]:
        if self._connection is None:
            self._connection = connect(self._url)
        try:
            return self._connection.execute(query(name), parameters).fetchall()
        except psycopg.Error as error:
            if error.sqlstate == _LEASE_LOST:
                raise LeaseLost(str(error)) from error
            raise

    def _disconnect(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(psycopg.Error):
                self._connection.close()
            self._connection = None


def ceiling_in(state: SharedState, run_id: UUID) -> Decimal | None:
    """The spend ceiling that workers keep in this run, in US dollars; `None` without one."""
    rows = state.execute("run_budget", {"run_id": run_id})
    return rows[0][0] if rows else None


def set_ceiling(state: SharedState, run_id: UUID, ceiling: Decimal) -> None:
    """Let workers drive the run below this ceiling, in US dollars, from now on."""
    state.execute("begin_budget", {"run_id": run_id, "ceiling": ceiling})


def count_spending(state: SharedState, lease: HeldLease, counted: Mapping[int, Spending]) -> None:
    """Say what shards have spent by the log, under the lease of one or of the run alone.

    Nothing is reserved for them any more. Raises `LeaseLost`.
    """
    state.execute(
        "count_spending",
        {
            **_named(lease),
            "shards": list(counted),
            "known": [each.known for each in counted.values()],
            "unknown": [each.unknown for each in counted.values()],
            "requests": [each.unknown_requests for each in counted.values()],
        },
    )


def reserve_spending(state: SharedState, lease: HeldLease, report: Report) -> Grant:
    """Tell what the lease's shard has spent, and reserve more for it. Raises `LeaseLost`."""
    [(more, ceiling, known, unknown, requests, reserved, wanted)] = state.execute(
        "reserve_spending",
        {
            **_named(lease),
            "known": report.spent.known,
            "unknown": report.spent.unknown,
            "requests": report.spent.unknown_requests,
            "keeps": report.keeps,
            "needs": report.needs,
            "wants": report.wants,
            "number": report.number,
        },
    )
    total = Spending(known, unknown, int(requests), reserved)
    return Grant(more, ceiling, total, wanted)


def shards_with_budget(state: SharedState, run_id: UUID) -> list[int]:
    """The shards of a run for which something is reserved."""
    return [shard for (shard,) in state.execute("reserved_shards", {"run_id": run_id})]


class DatabaseBook:
    """The shares of all workers of a database, as `holder` sees them."""

    def __init__(self, state: SharedState, holder: str) -> None:
        self._state = state
        self._holder = holder

    def exchange(
        self, key: ProviderKey, limits: Limits, own: UUID, claim: Claim, seconds: float
    ) -> Answer:
        """Tell what was used and what a server said, and ask for a share. With 0 seconds it ends.

        Raises `psycopg.OperationalError` while the database is away.
        """
        [row] = self._state.execute(
            "share_limits",
            {
                **claim._asdict(),
                "key": key.digest,
                "server": key.server,
                "own": own,
                "holder": self._holder,
                "seconds": seconds,
                "most_concurrency": limits.concurrency,
                "most_requests": limits.requests,
                "most_tokens": limits.tokens,
            },
        )
        return Answer(*row)


def _named(lease: HeldLease) -> dict[str, Any]:
    return {"run_id": lease.run_id, "shard": lease.shard, "epoch": lease.epoch}
