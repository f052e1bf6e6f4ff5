"""Writes the state that a database's workers share outside the log: budgets and limits.

Each call is one short transaction on a separate connection, so that it waits for no append.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from uuid import UUID

import psycopg

from failproof_es.core.limits import GrantedShare, KeyLimits, ProviderKey, ShareClaim
from failproof_es.core.spend import Grant, SpendReport, SpendState
from failproof_es.store.connecting import connect
from failproof_es.store.errors import LateStatement
from failproof_es.store.outage import AWAY, Outage
from failproof_es.store.writing.lease import HeldLease
from failproof_es.store.writing.recorder import LeaseLost, query

_LEASE_LOST = "FP001"
_SUPERSEDED = "40001"
_PATIENCE_S = 1.0


class SharedState:
    """One connection, made when it is first needed and again after an outage. Thread-safe.

    Every call is repeated while the server is away, for as long as `outage` allows (1 s by default,
    as callers repeat their statements every second); then it raises `LogUnavailable`. Statements
    are idempotent.
    """

    def __init__(self, url: str, outage: Outage | None = None) -> None:
        self._url = url
        self._outage = outage or Outage(longest_s=_PATIENCE_S)
        self._guard = threading.Lock()
        self._connection: psycopg.Connection[Any] | None = None
        self._closed = False

    def execute(self, name: str, parameters: Mapping[str, Any]) -> list[Any]:
        """The rows of `queries/<name>.sql`.

        Raises `LeaseLost` if the named lease is lost, `LateStatement` if the same holder has made a
        newer statement, or if it is called after `close`, as by an abandoned thread.
        """

        def attempt() -> list[Any]:
            with self._guard:
                return self._execute_once(name, parameters)

        return self._outage.retry(attempt)

    def close(self) -> None:
        """Close the connection for good. Idempotent."""
        with self._guard:
            self._closed = True
            self._disconnect()

    def _execute_once(self, name: str, parameters: Mapping[str, Any]) -> list[Any]:
        if self._closed:
            raise LateStatement(f"{name}: nobody waits for it any more")
        if self._connection is None:
            self._connection = connect(self._url)
        try:
            return self._connection.execute(query(name), parameters).fetchall()
        except psycopg.Error as error:
            if error.sqlstate == _LEASE_LOST:
                raise LeaseLost(str(error)) from error
            if error.sqlstate == _SUPERSEDED:
                raise LateStatement(str(error)) from error
            if isinstance(error, AWAY):
                self._disconnect()
            raise

    def _disconnect(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(psycopg.Error):
                self._connection.close()
            self._connection = None


def ceiling_in(state: SharedState, run_id: UUID) -> Decimal | None:
    """The spend ceiling in force for the run's workers, in US dollars; `None` without one."""
    rows = state.execute("run_budget", {"run_id": run_id})
    return rows[0][0] if rows else None


def set_ceiling(state: SharedState, lease: HeldLease, ceiling: Decimal, number: int) -> None:
    """Set the ceiling, in US dollars, below which workers drive the run.

    The lease is on the run alone. `number` grows with each change under it. Raises `LeaseLost`.
    """
    state.execute(
        "begin_budget",
        {"run_id": lease.run_id, "epoch": lease.epoch, "number": number, "ceiling": ceiling},
    )


def count_spending(state: SharedState, lease: HeldLease, counted: Mapping[int, SpendState]) -> None:
    """Set the spending of shards as counted in the log, and remove their reservations.

    The lease is on one of them or on the run alone. Raises `LeaseLost`.
    """
    state.execute(
        "count_spending",
        {
            **_name_lease(lease),
            "shards": list(counted),
            "known": [spending.known_usd for spending in counted.values()],
            "unknown": [spending.unknown for spending in counted.values()],
            "requests": [spending.unknown_requests for spending in counted.values()],
        },
    )


def reserve_spending(state: SharedState, lease: HeldLease, report: SpendReport) -> Grant:
    """Report the spending of the lease's shard, and reserve more for it. Raises `LeaseLost`."""
    [(more, ceiling, known_spent, unknown, requests, reserved, is_wanted)] = state.execute(
        "reserve_spending",
        {
            **_name_lease(lease),
            "known": report.spent.known_usd,
            "unknown": report.spent.unknown,
            "requests": report.spent.unknown_requests,
            "keeps": report.keeps,
            "needs": report.needs,
            "wants": report.wants,
            "number": report.number,
        },
    )
    total = SpendState(known_spent, unknown, int(requests), reserved)
    return Grant(more, ceiling, total, is_wanted)


def shards_with_budget(state: SharedState, run_id: UUID) -> list[int]:
    """The shards of a run with a reservation."""
    return [shard for (shard,) in state.execute("reserved_shards", {"run_id": run_id})]


class DatabaseShares:
    """The shares of provider keys in a database, for the worker `holder`."""

    def __init__(self, state: SharedState, holder: str) -> None:
        self._state = state
        self._holder = holder

    def exchange(
        self, key: ProviderKey, limits: KeyLimits, own: UUID, claim: ShareClaim, seconds: float
    ) -> GrantedShare:
        """Send a claim for a share of `seconds`, and return the answer. 0 seconds end the share.

        Raises `LogUnavailable` while the database is away.
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
                "own_concurrency": limits.concurrency,
                "own_requests": limits.requests,
                "own_tokens": limits.tokens,
            },
        )
        return GrantedShare(*row)


def _name_lease(lease: HeldLease) -> dict[str, Any]:
    return {"run_id": lease.run_id, "shard": lease.shard, "epoch": lease.epoch}
