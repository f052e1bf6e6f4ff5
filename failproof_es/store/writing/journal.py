"""Appends the events of a running run to the log.

`await journal.append(...)` returns after the commit, never before. One flusher commits
whatever is waiting, so hundreds of concurrent evaluations share a commit.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import cast

from failproof_es.events import Event
from failproof_es.store.errors import JournalError as JournalError
from failproof_es.store.errors import StreamConflict
from failproof_es.store.mapper import LogEntry
from failproof_es.store.outage import Outage
from failproof_es.store.writing.application import EventLog
from failproof_es.store.writing.lease import HeldLease
from failproof_es.store.writing.recorder import CONNECTION_ERRORS, EventRecorder, LeaseLost
from failproof_es.support import clock


class JournalClosed(JournalError):
    """The journal accepts no more appends."""


@dataclass(slots=True, eq=False)
class _Append:
    """Events that one caller appends together, and the future that it waits for."""

    entries: list[LogEntry]
    size: int
    lease: HeldLease | None
    done: asyncio.Future[Sequence[int]]


_Outcome = Sequence[int] | BaseException
"""The positions of an append's events, or why there are none."""


@dataclass(frozen=True, slots=True)
class JournalLimits:
    """The limits of the events that may wait, and of those that are committed at once."""

    waiting_bytes: int = 64_000_000
    batch_events: int = 5_000
    batch_bytes: int = 32_000_000
    notify_every_s: float = 0.1


class Journal:
    """Group commit with back-pressure.

    Appends under one lease are committed in the order in which they were made; each is atomic. If
    a lease is lost, only the appends under it fail. While the server is away, appends wait and are
    retried, for as long as `outage` allows; a commit whose outcome is unknown is looked up before
    it counts as a conflict. `on_commit` is called with the events of each append once they are
    durable, in the event loop, before the caller goes on. It must not raise.
    """

    def __init__(
        self,
        log: EventLog,
        *,
        lease: HeldLease | None = None,
        limits: JournalLimits | None = None,
        outage: Outage | None = None,
        on_commit: Callable[[Sequence[LogEntry]], None] | None = None,
    ) -> None:
        self._log = log
        self._on_commit = on_commit
        self._recorder = cast("EventRecorder", log.recorder)
        self._lease = lease
        self._limits = limits or JournalLimits()
        self._outage = outage or Outage()
        self._waiting: deque[_Append] = deque()
        self._waiting_bytes = 0
        self._work = asyncio.Event()
        self._room = asyncio.Condition()
        self._closing = False
        self._failure: BaseException | None = None
        self._notified_at = 0.0
        self._unacknowledged = False
        """Whether the present batch may have been committed already."""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="journal")
        self._flusher = asyncio.create_task(self._flush(), name="journal")

    async def append(self, *events: Event, lease: HeldLease | None = None) -> Sequence[int]:
        """Record `events` together; return their positions once they are durable.

        They are recorded under `lease`, by default the journal's own. After `StreamConflict` or
        `JournalClosed` none of them is recorded; after `LogUnavailable` or `LeaseLost` they may be,
        by a commit that was not acknowledged.
        """
        entries = [cast("LogEntry", self._log.mapper.to_stored_event(event)) for event in events]
        size = sum(len(entry.state) for entry in entries)
        if not self._has_room(size):
            async with self._room:
                await self._room.wait_for(
                    lambda: self._failure or self._closing or self._has_room(size)
                )
        if self._failure is not None:
            raise self._failure
        if self._closing:
            raise JournalClosed("the journal is closed")
        done: asyncio.Future[Sequence[int]] = asyncio.get_running_loop().create_future()
        append = _Append(entries, size, lease or self._lease, done)
        self._waiting.append(append)
        self._waiting_bytes += size
        self._work.set()
        # A caller that is cancelled stops waiting; its append is committed all the same.
        return await append.done

    async def close(self) -> None:
        """Commit the waiting appends, then stop. Idempotent."""
        self._closing = True
        self._work.set()
        async with self._room:
            self._room.notify_all()
        await asyncio.gather(self._flusher, return_exceptions=True)
        self._thread.shutdown(wait=True)

    # -- the flusher -------------------------------------------------------------------

    def _has_room(self, size: int) -> bool:
        return not self._waiting or self._waiting_bytes + size <= self._limits.waiting_bytes

    async def _flush(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._work.wait()
            batch = self._take_batch()
            if not batch:
                self._work.clear()
                if self._closing:
                    return
                continue
            try:
                outcomes = await loop.run_in_executor(self._thread, self._write, batch)
            except BaseException as error:
                self._fail_all(error, batch)
                return
            for append, outcome in zip(batch, outcomes, strict=True):
                if self._on_commit is not None and not isinstance(outcome, BaseException):
                    self._on_commit(append.entries)
                _settle_append(append, outcome)
            await self._wake_all()

    def _take_batch(self) -> list[_Append]:
        """The next batch: all waiting appends within the limits, but at least one."""
        batch: list[_Append] = []
        events = size = 0
        while self._waiting:
            append = self._waiting[0]
            events += len(append.entries)
            size += append.size
            too_much = events > self._limits.batch_events or size > self._limits.batch_bytes
            if batch and too_much:
                break
            batch.append(self._waiting.popleft())
            self._waiting_bytes -= append.size
        return batch

    def _fail_all(self, error: BaseException, batch: Sequence[_Append]) -> None:
        """Fail every append of the batch and every waiting one, and all later ones."""
        self._failure = error
        for append in (*batch, *self._waiting):
            _settle_append(append, error)
        self._waiting.clear()
        self._work.clear()
        asyncio.get_running_loop().create_task(self._wake_all(), name="journal-failed")

    async def _wake_all(self) -> None:
        async with self._room:
            self._room.notify_all()

    # -- in the journal's own thread ---------------------------------------------------

    def _write(self, batch: Sequence[_Append]) -> list[_Outcome]:
        outcomes = self._outage.retry(partial(self._try_to_insert, batch), CONNECTION_ERRORS)
        self._unacknowledged = False
        self._notify(outcomes)
        return outcomes

    def _try_to_insert(self, batch: Sequence[_Append]) -> list[_Outcome]:
        try:
            return self._insert(batch)
        except CONNECTION_ERRORS:
            self._unacknowledged = True
            raise

    def _insert(self, batch: Sequence[_Append]) -> list[_Outcome]:
        """Insert the batch in one transaction. On a conflict, split the batch in halves until the
        append at fault is alone; on a lost lease, split by leases until that lease is alone."""
        leases = list(dict.fromkeys(append.lease for append in batch))
        try:
            positions = self._insert_under([lease for lease in leases if lease is not None], batch)
        except StreamConflict as conflict:
            if len(batch) == 1:
                return [conflict]
            middle = len(batch) // 2
            return self._insert(batch[:middle]) + self._insert(batch[middle:])
        except LeaseLost as lost:
            if len(leases) == 1:
                return [lost] * len(batch)
            return self._insert_apart(batch, set(leases[: len(leases) // 2]))
        outcomes: list[_Outcome] = []
        at = 0
        for append in batch:
            end = at + len(append.entries)
            outcomes.append(positions[at:end])
            at = end
        return outcomes

    def _insert_under(self, leases: Sequence[HeldLease], batch: Sequence[_Append]) -> Sequence[int]:
        """Insert the batch and return its positions. Tries again each time that this process has
        meanwhile claimed an ended lease again."""
        entries = [entry for append in batch for entry in append.entries]
        unsure = len(batch) == 1 and self._unacknowledged
        insert = self._recorder.insert_or_find if unsure else self._recorder.insert_events
        while True:
            lease_keys = [(lease.run_id, lease.shard, lease.epoch) for lease in leases]
            try:
                return insert(entries, leases=lease_keys, notify=False) or []
            except LeaseLost:
                moved = [lease.moved_on(n[2]) for lease, n in zip(leases, lease_keys, strict=True)]
                if not any(moved):
                    raise

    def _insert_apart(
        self, batch: Sequence[_Append], leases: set[HeldLease | None]
    ) -> list[_Outcome]:
        """Insert the appends under these leases, then the rest; return outcomes in batch order."""
        settled: dict[_Append, _Outcome] = {}
        for first in (True, False):
            part = [append for append in batch if (append.lease in leases) is first]
            settled.update(zip(part, self._insert(part), strict=True))
        return [settled[append] for append in batch]

    def _notify(self, outcomes: Sequence[_Outcome]) -> None:
        now = clock.monotonic_s()
        positions = [o[-1] for o in outcomes if not isinstance(o, BaseException) and o]
        if positions and now - self._notified_at >= self._limits.notify_every_s:
            self._notified_at = now
            self._recorder.try_notify(positions[-1])


def _settle_append(append: _Append, outcome: _Outcome) -> None:
    if append.done.done():
        return
    if isinstance(outcome, BaseException):
        append.done.set_exception(outcome)
        append.done.exception()  # marks it as retrieved: a cancelled caller will not do so
    else:
        append.done.set_result(outcome)
