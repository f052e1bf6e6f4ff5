"""Leases: the right to write for a run, or for one shard of it.

A lease ends by the database's clock unless its holder renews it, so a host that lost power is
replaced within the lease time. Its epoch grows by one with each holder, and every append names the
epoch under which it is made: the appends of a process that was replaced while it was paused or cut
off are refused.

Only the epoch decides who may write, and only the end of a lease who may take it over. A holder
that comes back after the end, say from an outage of the database, claims the lease again with the
next epoch, if nobody else has taken it meanwhile.

The advisory lock of the holder's session is an additional hint. A process that dies ends its
session and is replaced at once; but no session makes a lease last longer.
"""

from __future__ import annotations

import contextlib
import secrets
import select
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol, Self
from uuid import UUID

import psycopg

from failproof_es.store.connecting import connect
from failproof_es.store.outage import AWAY
from failproof_es.store.pooler import require_sessions
from failproof_es.store.writing.recorder import query

LEASE_S = 15.0
"""Seconds that a lease lasts after its last renewal. Renew it every third of that."""
_RENEW_S = 2.0
"""Seconds between renewals of a drive's lease, and until it notices that its session was cut."""
_PATIENCE_PARTS = 6
"""A claim waits at most for 1/`_PATIENCE_PARTS` of the lease time if renewals may wait behind it.
"""
_LEAST_PATIENCE_MS = 500
_MOST_READS = 10
RUN_ITSELF = -1
"""Shard number that means the whole run."""

_STATEMENTS = ("claim_lease", "renew_leases", "release_lease", "lease_holder")


class RunBusy(Exception):
    """Another process drives the run; nothing was changed."""

    def __init__(self, run_id: UUID, holder: str | None, *, left_s: float = 0.0) -> None:
        self.run_id = run_id
        self.holder = holder
        by = f" by {holder}" if holder else ""
        gone = f"; if its host is gone, try again in {left_s:.0f} s" if left_s >= 1 else ""
        super().__init__(
            f"run {run_id} is being driven{by}: wait for it to end, or stop that process first"
            + gone
        )


def passed_s() -> float:
    """Seconds of a monotonic clock that also runs while the machine is suspended."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


class HeldLease(Protocol):
    """The lease that an append is made under: its run, shard and epoch."""

    @property
    def run_id(self) -> UUID: ...

    @property
    def shard(self) -> int:
        """`RUN_ITSELF` or the number of a shard."""

    @property
    def epoch(self) -> int:
        """The newest epoch that this process holds."""

    def moved_on(self, epoch: int) -> bool:
        """Whether this process holds another epoch by now. Waits for a claim under way."""


class ShardLease:
    """A lease that `ShardLeases.claim` returned. Its epoch grows if it is claimed again."""

    __slots__ = ("_guard", "alone", "ends_at", "epoch", "run_id", "shard")

    def __init__(
        self,
        run_id: UUID,
        shard: int,
        epoch: int,
        *,
        alone: bool = False,
        guard: threading.Lock | None = None,
    ) -> None:
        self.run_id = run_id
        self.shard = shard
        self.epoch = epoch
        self.alone = alone
        self.ends_at = 0.0
        """Until then the lease is certainly held, by the clock of its `ShardLeases`. Send nothing
        after."""
        self._guard = guard or threading.Lock()

    def moved_on(self, epoch: int) -> bool:
        """See `HeldLease`."""
        with self._guard:
            return self.epoch != epoch

    def __repr__(self) -> str:
        return f"ShardLease({self.run_id}, {self.shard}, epoch {self.epoch})"


class ShardLeases:
    """The leases of one process, and the session that shows that the process lives.

    Thread-safe. Each call executes one or two statements. It raises `psycopg.OperationalError`
    while the server is away, and `InvalidInput` if a pooler shares the session with others.
    """

    def __init__(
        self,
        url: str,
        holder: str,
        seconds: float = LEASE_S,
        *,
        clock: Callable[[], float] = passed_s,
    ) -> None:
        self._url = url
        self._holder = holder
        self._seconds = seconds
        self._clock = clock
        self._guard = threading.Lock()
        self._held: dict[tuple[UUID, int], ShardLease] = {}
        self._connection: psycopg.Connection[Any] | None = None
        self._session = 0
        """The number of the advisory lock that the present connection holds."""
        self._closed = False

    def claim(
        self, run_id: UUID, shard: int = RUN_ITSELF, *, alone: bool = False
    ) -> ShardLease | None:
        """Claim a free lease, with a new epoch; `None` while a process, also this one, holds it.

        With `alone`, only for `RUN_ITSELF`, the run is taken with all its shards: `None` while one
        of them is held, and no shard can be claimed as long as the lease lasts. Also `None` if
        appends hold up the claim of a shard, or any claim of a process that holds leases, for
        seconds: the held leases must be renewed meanwhile. And `None` after `close`: the thread of
        a cancelled task may come late.
        """
        with self._guard:
            if self._closed or (run_id, shard) in self._held:
                return None
            lease = ShardLease(run_id, shard, 0, alone=alone, guard=self._guard)
            try:
                if not self._try_claim(lease):
                    return None
            except psycopg.errors.LockNotAvailable:
                return None
            self._held[run_id, shard] = lease
            return lease

    def renew(self) -> list[ShardLease]:
        """Renew every held lease. Return the leases that were lost, which are no longer held.

        A lease that has ended is claimed again, with the next epoch, if nobody else has held it
        since. Call it every third of the lease time.
        """
        with self._guard:
            held = list(self._held.values())
            renewed = self._renew_held(held) if held else set()
            lost = []
            for lease in held:
                if (lease.run_id, lease.shard) in renewed:
                    continue
                if not self._try_claim(lease):
                    del self._held[lease.run_id, lease.shard]
                    lost.append(lease)
            return lost

    def remaining_s(self, lease: ShardLease) -> float:
        """Seconds for which the lease is certainly held; below 0 if it may have ended."""
        return lease.ends_at - self._clock()

    def was_cut_off(self) -> bool:
        """Whether leases are held and the session is known to have ended, so that `renew` will
        begin another one. Sends nothing to the server. False while another thread uses the session.
        """
        if not self._guard.acquire(blocking=False):
            return False
        try:
            return bool(self._held) and (self._connection is None or _has_ended(self._connection))
        finally:
            self._guard.release()

    def release(self, lease: ShardLease, *, finished: bool = False) -> None:
        """Release the lease to others. `finished` tells them that the shard has no work left.

        Does nothing if it is not held, or the server is away: then it ends by itself.
        """
        with self._guard:
            key = (lease.run_id, lease.shard)
            if self._held.get(key) is lease:
                del self._held[key]
                with contextlib.suppress(psycopg.OperationalError):
                    self._release(lease, finished=finished)

    def holder_of(self, run_id: UUID) -> tuple[str | None, float]:
        """The present or last holder of a lease of the run, and the seconds that it lasts."""
        with self._guard:
            rows = self._execute("lease_holder", lambda: {"run_id": run_id})
        return rows[0] if rows else (None, 0.0)

    def close(self) -> None:
        """Release all held leases, and end the session for good. Idempotent."""
        with self._guard:
            self._closed = True
            with contextlib.suppress(psycopg.OperationalError):
                for lease in self._held.values():
                    self._release(lease, finished=False)
            self._held.clear()
            self._disconnect()

    # -- with the guard held -----------------------------------------------------------------

    def _try_claim(self, lease: ShardLease) -> bool:
        """Claim the lease; if it was held before, only if nobody else has held it since."""
        began = self._clock()
        patience_ms = max(_LEAST_PATIENCE_MS, round(self._seconds * 1_000 / _PATIENCE_PARTS))
        [(epoch,)] = self._execute(
            "claim_lease",
            lambda: {
                "run_id": lease.run_id,
                "shard": lease.shard,
                "holder": self._holder,
                "seconds": self._seconds,
                "session": self._session,
                "alone": lease.alone,
                "after_epoch": lease.epoch or None,
                "patience_ms": str(patience_ms if lease.shard >= 0 or self._held else 0),
            },
        )
        if epoch is None:
            return False
        lease.epoch = epoch
        lease.ends_at = began + self._seconds
        return True

    def _renew_held(self, held: list[ShardLease]) -> set[tuple[UUID, int]]:
        began = self._clock()
        rows = self._execute(
            "renew_leases",
            lambda: {
                "run_ids": [lease.run_id for lease in held],
                "shards": [lease.shard for lease in held],
                "epochs": [lease.epoch for lease in held],
                "seconds": self._seconds,
                "session": self._session,
            },
        )
        renewed = set(rows)
        for lease in held:
            if (lease.run_id, lease.shard) in renewed:
                lease.ends_at = began + self._seconds
        return renewed

    def _release(self, lease: ShardLease, *, finished: bool) -> None:
        self._execute(
            "release_lease",
            lambda: {
                "run_id": lease.run_id,
                "shard": lease.shard,
                "epoch": lease.epoch,
                "finished": finished,
            },
        )

    def _execute(self, name: str, parameters: Callable[[], dict[str, Any]]) -> list[Any]:
        """The rows of `queries/<name>.sql`; on a new connection if the present one is cut off."""
        if self._connection is not None:
            try:
                return self._connection.execute(query(name), parameters()).fetchall()
            except psycopg.errors.LockNotAvailable:
                raise  # the server is there
            except AWAY:
                self._disconnect()
        try:
            return self._connected().execute(query(name), parameters()).fetchall()
        except psycopg.errors.ReadOnlySqlTransaction as error:
            self._disconnect()  # the server is a standby now: a new connection may find another
            raise psycopg.OperationalError(str(error)) from error

    def _connected(self) -> psycopg.Connection[Any]:
        for name in _STATEMENTS:
            # Read now: a process that has run out of file descriptors can still release.
            query(name)
        connection = connect(self._url)
        session = secrets.randbits(63)
        try:
            require_sessions(connection, self._url)
            connection.execute("SELECT pg_catalog.pg_advisory_lock(%s)", (session,))
        except BaseException:
            _unlock_and_close(connection)
            raise
        self._connection, self._session = connection, session
        return connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            _unlock_and_close(self._connection)
            self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Lease:
    """The right of one process to drive a run alone, with all its shards.

    A thread renews it until it is released.
    """

    shard = RUN_ITSELF

    def __init__(self, url: str, run_id: UUID, holder: str, seconds: float = LEASE_S) -> None:
        self.run_id = run_id
        self.lost: RunBusy | None = None
        """The error that names the new holder, once this process knows that the lease is lost."""
        self._leases = ShardLeases(url, holder, seconds)
        self._pause_s = min(_RENEW_S, seconds / 3)
        self._held: ShardLease | None = None
        self._released = threading.Event()

    @property
    def epoch(self) -> int:
        """The newest epoch; 0 before the lease is acquired."""
        return self._held.epoch if self._held is not None else 0

    def moved_on(self, epoch: int) -> bool:
        """See `HeldLease`."""
        return self._held is not None and self._held.moved_on(epoch)

    def acquire(self) -> Self:
        """Take the lease with a new epoch. Raises `RunBusy`."""
        try:
            self._held = self._leases.claim(self.run_id, alone=True)
        except BaseException:
            self._leases.close()
            raise
        if self._held is None:
            raise self._busy_error()
        threading.Thread(target=self._renew_until_released, name="lease", daemon=True).start()
        return self

    def keep(self) -> None:
        """Renew the lease now, on a new connection if the session was cut off.

        Raises `RunBusy` when another process has taken the run or one of its shards,
        `psycopg.OperationalError` while the server is away.
        """
        if self.lost is not None or self._leases.renew():
            self.lost = self._busy_error()
            raise self.lost

    def release(self) -> None:
        """Let others drive the run. Idempotent."""
        self._released.set()
        self._leases.close()

    def _renew_until_released(self) -> None:
        while not self._released.wait(self._pause_s):
            try:
                self.keep()
            except RunBusy:
                return
            except psycopg.Error:
                continue  # the server is away; the epoch still guards every append

    def _busy_error(self) -> RunBusy:
        """The error that names the present holder. Closes the session."""
        holder: str | None = None
        left_s = 0.0
        try:
            # If the server is away again the name is unknown, but the lease is lost all the same.
            with contextlib.suppress(psycopg.Error):
                holder, left_s = self._leases.holder_of(self.run_id)
        finally:
            self._leases.close()
        return RunBusy(self.run_id, holder, left_s=left_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


def _has_ended(connection: psycopg.Connection[Any]) -> bool:
    """Whether the server has ended the session, from the data that has arrived by now."""
    with contextlib.suppress(psycopg.Error, OSError):
        waiting = select.poll()
        waiting.register(connection.fileno(), select.POLLIN)
        for _ in range(_MOST_READS):  # its last messages, then the end, which raises
            if not waiting.poll(0):
                break
            connection.pgconn.consume_input()
    return connection.closed


def _unlock_and_close(connection: psycopg.Connection[Any]) -> None:
    """Unlock, then close: the server may notice a closed connection only after the next claim."""
    with contextlib.suppress(psycopg.Error):
        connection.execute("SELECT pg_catalog.pg_advisory_unlock_all()")
    connection.close()
