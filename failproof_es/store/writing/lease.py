"""Leases: the right to write for a run, or for one shard of it.

A lease ends by the database's clock unless its holder renews it, so a host that lost power is
replaced within the lease time. Its epoch grows by one with each holder, and every append names the
epoch under which it is made: a process that was replaced while it was paused, or cut off, gets its
appends refused.

Only the epoch decides who may write, and only the end of a lease who may take it over. A holder
that comes back after the end, from an outage of the database, say, goes on where nobody has taken
the lease meanwhile: it claims it again, with the next epoch.

The advisory lock of the holder's session is a hint beside that. A process that dies ends its
session, so it is replaced at once; but no session makes a lease last longer.
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
"""How long a lease lasts after it was last renewed. Renew it every third of that."""
_RENEW_S = 2.0
"""A drive renews its lease so often: so soon it notices that its session was cut off."""
_PATIENCE_PARTS = 6
"""A claim waits for this part of the lease time at most where renewals may wait behind it."""
_LEAST_PATIENCE_MS = 500
_MOST_READS = 10
RUN_ITSELF = -1
"""The number that stands for the run itself where another one stands for a shard."""

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
    """Seconds that have passed since some moment, those of a suspended machine included."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


class HeldLease(Protocol):
    """What an append says of the lease under which it is made."""

    @property
    def run_id(self) -> UUID: ...

    @property
    def shard(self) -> int:
        """`RUN_ITSELF` or the number of a shard."""

    @property
    def epoch(self) -> int:
        """The newest epoch that this process got."""

    def moved_on(self, epoch: int) -> bool:
        """Whether this process holds another epoch by now. Waits for a claim under way."""


class ShardLease:
    """A lease as `ShardLeases.claim` gave it. Its epoch grows when it was claimed again."""

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
        """When it surely is still held, by the clock of its `ShardLeases`. Send nothing after."""
        self._guard = guard or threading.Lock()

    def moved_on(self, epoch: int) -> bool:
        """See `HeldLease`."""
        with self._guard:
            return self.epoch != epoch

    def __repr__(self) -> str:
        return f"ShardLease({self.run_id}, {self.shard}, epoch {self.epoch})"


class ShardLeases:
    """The leases of one process, and the session that shows that it lives.

    Safe to call from several threads. Each call makes one or two statements. It raises
    `psycopg.OperationalError` while the server is away, and `InvalidInput` where a pooler gives
    the session to others.
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
        """The advisory lock of the present connection."""
        self._closed = False

    def claim(
        self, run_id: UUID, shard: int = RUN_ITSELF, *, alone: bool = False
    ) -> ShardLease | None:
        """Take a lease that nobody holds, with a new epoch; `None` while somebody does.

        Who holds it may be this process. With `alone`, which only `RUN_ITSELF` can be, the run is
        taken with all its shards: `None` while one of them is held, and no shard can be claimed
        as long as it lasts. Also `None` while appends are held up for seconds, for a shard and for
        who holds something: what is held already must be renewed meanwhile. And after `close`:
        the thread of a task that was cancelled may come late.
        """
        with self._guard:
            if self._closed or (run_id, shard) in self._held:
                return None
            lease = ShardLease(run_id, shard, 0, alone=alone, guard=self._guard)
            try:
                if not self._claimed(lease):
                    return None
            except psycopg.errors.LockNotAvailable:
                return None
            self._held[run_id, shard] = lease
            return lease

    def renew(self) -> list[ShardLease]:
        """Renew every lease that is held. Return those that were lost, and are held no more.

        One that ended before is claimed again if nobody has had it since: its epoch is the next
        one then. Call it every third of the lease time.
        """
        with self._guard:
            held = list(self._held.values())
            renewed = self._renewed(held) if held else set()
            lost = []
            for lease in held:
                if (lease.run_id, lease.shard) in renewed:
                    continue
                if not self._claimed(lease):
                    del self._held[lease.run_id, lease.shard]
                    lost.append(lease)
            return lost

    def remaining_s(self, lease: ShardLease) -> float:
        """For how many seconds more the lease surely is held; below 0 when it may have ended."""
        return lease.ends_at - self._clock()

    def was_cut_off(self) -> bool:
        """Whether something is held, and the session is known to have ended: `renew` begins
        another. Asks the server nothing. False while another thread uses the session."""
        if not self._guard.acquire(blocking=False):
            return False
        try:
            return bool(self._held) and (self._connection is None or _has_ended(self._connection))
        finally:
            self._guard.release()

    def release(self, lease: ShardLease, *, finished: bool = False) -> None:
        """Let others have it. `finished` tells them that nothing is left to be done.

        Does nothing where it is not held any more, or the server is away: then it ends by itself.
        """
        with self._guard:
            key = (lease.run_id, lease.shard)
            if self._held.get(key) is lease:
                del self._held[key]
                with contextlib.suppress(psycopg.OperationalError):
                    self._release(lease, finished=finished)

    def holder_of(self, run_id: UUID) -> tuple[str | None, float]:
        """Who holds a lease of the run, or held one last, and for how many seconds more."""
        with self._guard:
            rows = self._execute("lease_holder", lambda: {"run_id": run_id})
        return rows[0] if rows else (None, 0.0)

    def close(self) -> None:
        """Release all that is held, and end the session for good. Idempotent."""
        with self._guard:
            self._closed = True
            with contextlib.suppress(psycopg.OperationalError):
                for lease in self._held.values():
                    self._release(lease, finished=False)
            self._held.clear()
            self._disconnect()

    # -- with the guard held -----------------------------------------------------------------

    def _claimed(self, lease: ShardLease) -> bool:
        """Claim it; one that was held before only where nobody has had it since."""
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

    def _renewed(self, held: list[ShardLease]) -> set[tuple[UUID, int]]:
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
        """The rows of `queries/<name>.sql`; on a new connection if the present one was cut."""
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
            query(name)  # read now: a process without a descriptor left can still release
        connection = connect(self._url)
        session = secrets.randbits(63)
        try:
            require_sessions(connection, self._url)
            connection.execute("SELECT pg_catalog.pg_advisory_lock(%s)", (session,))
        except BaseException:
            _let_go(connection)
            raise
        self._connection, self._session = connection, session
        return connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            _let_go(self._connection)
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

    A thread renews it until it is released, whatever the process does meanwhile.
    """

    shard = RUN_ITSELF

    def __init__(self, url: str, run_id: UUID, holder: str, seconds: float = LEASE_S) -> None:
        self.run_id = run_id
        self.lost: RunBusy | None = None
        """Who has it instead, once this process knows."""
        self._leases = ShardLeases(url, holder, seconds)
        self._pause_s = min(_RENEW_S, seconds / 3)
        self._held: ShardLease | None = None
        self._released = threading.Event()

    @property
    def epoch(self) -> int:
        """The newest epoch that it got; 0 before it was taken."""
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
            raise self._busy()
        threading.Thread(target=self._keep_on, name="lease", daemon=True).start()
        return self

    def keep(self) -> None:
        """Renew the lease now, on a new connection if the session was cut off.

        Raises `RunBusy` when another process has taken the run or one of its shards,
        `psycopg.OperationalError` while the server is away.
        """
        if self.lost is not None or self._leases.renew():
            self.lost = self._busy()
            raise self.lost

    def release(self) -> None:
        """Let others drive the run. Idempotent."""
        self._released.set()
        self._leases.close()

    def _keep_on(self) -> None:
        while not self._released.wait(self._pause_s):
            try:
                self.keep()
            except RunBusy:
                return
            except psycopg.Error:
                continue  # the server is away; the epoch still guards every append

    def _busy(self) -> RunBusy:
        """Who has it instead. Nothing is left open."""
        holder: str | None = None
        left_s = 0.0
        try:
            # Away again, the server says no name: that the lease is lost is known all the same.
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
    """Whether the server has ended the session, as far as the network has told by now."""
    with contextlib.suppress(psycopg.Error, OSError):
        waiting = select.poll()
        waiting.register(connection.fileno(), select.POLLIN)
        for _ in range(_MOST_READS):  # what it said last, then the end, which raises
            if not waiting.poll(0):
                break
            connection.pgconn.consume_input()
    return connection.closed


def _let_go(connection: psycopg.Connection[Any]) -> None:
    """Unlock, then close: the server may notice a closed connection after the next driver asks."""
    with contextlib.suppress(psycopg.Error):
        connection.execute("SELECT pg_catalog.pg_advisory_unlock_all()")
    connection.close()
