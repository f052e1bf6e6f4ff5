"""Updates the projections during a run, in a separate process.

A process, because a run keeps one core busy and the projections should not slow it down. For a run
that ends within two seconds none is started: its events are applied afterwards.
`python -m projections.follower` reads the database's URL from its first line of standard
input, and follows the log. When standard input ends, it applies the remaining events and exits: it
never outlives the run, however the run died.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
import time
from types import TracebackType
from typing import Any, Self

import psycopg
from psycopg import sql
from tenacity import Retrying, retry_if_exception_type, stop_when_event_set
from tenacity.wait import wait_exponential

from failproof_es.store.connecting import connect
from failproof_es.store.reading.reader import CHANNEL, PROJECTED_CHANNEL, max_position
from failproof_es.support.machine.sidecar import Sidecar
from projections import PROJECTIONS
from projections.batch import BATCH_EVENTS
from projections.installed import names_of_others, usable_of_others
from projections.positions import begin_following
from projections.protocol import Projection
from projections.runner import COLLECT_SELDOM, catch_up, prepare, reached

_POLL_S = 0.5
_PAUSE_S = 3.0
"""Seconds from the start of one batch to the start of the next, unless a full batch is waiting. An
evaluation under way at the end of a batch is read again with the next one, so fewer batches are
cheaper. Readers do not wait: they catch up themselves. Live viewers do wait."""
LONGEST_PAUSE_S = 10.0
_BUSY_EVENTS = 50_000
"""The pause and the full batch if all cores are busy: recording comes before views. A reader
catches up with this many events in one or two seconds."""
_SPARE_CORES = 0.25
"""All cores count as busy unless this much of a core is idle."""
LEAST_BETWEEN_TELLING_S = 0.5
"""Least seconds between two notifications of readers."""
_CUT_OFF = (psycopg.OperationalError, psycopg.errors.IdleInTransactionSessionTimeout)
_DRAIN_S = 60.0
BEGIN_AFTER_S = 2.0
"""A run that ends within these seconds is followed at its end, in this process: a separate process
would take longer to start."""


class Follower:
    """Keeps every projection current while a run writes the log.

    It never disturbs the run: while the server is away it waits, and applies the events later.
    Leaving the context applies the remaining events, in this process if the follower's process was
    killed.
    """

    def __init__(self, url: str, begin_after_s: float = BEGIN_AFTER_S) -> None:
        """Follow the database at `url`, in a process that starts after `begin_after_s` seconds.

        It starts at once if there are projections of other packages, whose code never runs in this
        process.
        """
        self._url = url
        self._begin_after_s = 0.0 if names_of_others() else begin_after_s
        self._process: Sidecar | None = None
        self._stopping = threading.Event()
        self._waiting: threading.Thread | None = None
        self.kept_up = True
        """False, once stopped, if it did not reach the end of the log."""

    def start(self) -> None:
        """Start the follower's process, or the wait before it. Does not block."""
        if not self._begin_after_s:
            self._begin()
            return
        self._waiting = threading.Thread(target=self._begin_later, name="follower", daemon=True)
        self._waiting.start()

    def _begin_later(self) -> None:
        if not self._stopping.wait(self._begin_after_s):
            with contextlib.suppress(OSError):  # if no process can be started, follow at the end
                self._begin()

    def _begin(self) -> None:
        self._process = Sidecar("projections.follower", self._url.encode() + b"\n")

    def stop(self) -> None:
        """Apply the remaining events, and stop.

        `kept_up` tells whether it reached the log's end.
        """
        self._stopping.set()
        if self._waiting is not None:
            self._waiting.join()
        process, self._process = self._process, None
        if process is None:
            self.kept_up = _follow_to_end(self._url, self._stopping)
            return
        code = process.stop(_DRAIN_S)
        self.kept_up = code == 0 or (code is not None and _follow_to_end(self._url, self._stopping))

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


class SpareCores:
    """Whether this machine has had processor time to spare since this object was created."""

    def __init__(self) -> None:
        self._began, self._idle_s = time.monotonic(), _idle_s()

    def are_idle(self) -> bool:
        """Whether `_SPARE_CORES` were idle on average. Call it after some tenths of a second."""
        passed_s = max(time.monotonic() - self._began, 1e-3)
        return (_idle_s() - self._idle_s) / passed_s >= _SPARE_CORES


def _idle_s() -> float:
    """Idle time of this machine's cores since boot, summed, in seconds."""
    import psutil  # only the process that follows needs it

    times = psutil.cpu_times()
    return float(times.idle + getattr(times, "iowait", 0.0))


def _follow_to_end(url: str, stopping: threading.Event) -> bool:
    """Follow to the end of the log in this process; return whether it succeeded in `_DRAIN_S`.

    `stopping` must be set.
    """
    done = threading.Event()

    def take_in() -> None:
        with contextlib.suppress(Exception):  # `kept_up` reports it, and no event is lost
            follow(url, stopping)
            done.set()

    taking = threading.Thread(target=take_in, name="follower", daemon=True)
    taking.start()
    taking.join(_DRAIN_S)
    return done.is_set()


def follow(url: str, stopping: threading.Event) -> None:
    """Follow the log of the database at `url` until `stopping` is set, then once more to its end.

    While the server is away, it tries again. Raises `psycopg.OperationalError` if the server is
    still away when `stopping` is set.
    """
    retrying = Retrying(
        retry=retry_if_exception_type(_CUT_OFF),
        wait=wait_exponential(multiplier=0.2, max=5),
        stop=stop_when_event_set(stopping),
        reraise=True,
    )
    retrying(_follow_connected, url, stopping)


def _follow_connected(url: str, stopping: threading.Event) -> None:
    with connect(url) as connection:
        prepare(connection)
        begin_following(connection)
        guests = list(usable_of_others())
        teller = _Teller(connection)
        connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(CHANNEL)))
        _await_batch(connection, time.monotonic() - _PAUSE_S, stopping)
        while True:
            last_round = stopping.is_set()
            began, head = time.monotonic(), max_position(connection)
            event_count = catch_up(connection)
            guests = [guest for guest in guests if _bring_up_guest(connection, guest)]
            if event_count:
                teller.tell_soon()
                all_taken = reached(connection, PROJECTIONS) >= head
                if all_taken and not last_round:
                    teller.tell_now()
                    _await_batch(connection, began, stopping)
            elif last_round:
                teller.tell_now(wait=False)
                return
            else:
                teller.tell_now()
                for _ in connection.notifies(timeout=_POLL_S, stop_after=1):
                    pass


class _Teller:
    """Notifies readers that projections were updated, at most twice a second.

    Readers also poll, so none depends on it. Appends do not notify them: a reader would see rows
    from before the append.
    """

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        self._owed = False
        self._told_at = float("-inf")

    def tell_soon(self) -> None:
        """Notify now; if the last notification was too recent, at the next `tell_now`."""
        self._owed = True
        if time.monotonic() - self._told_at >= LEAST_BETWEEN_TELLING_S:
            self.tell_now()

    def tell_now(self, *, wait: bool = True) -> None:
        """Notify if a notification is due; with `wait`, not sooner than allowed after the last."""
        if not self._owed:
            return
        if wait:
            time.sleep(max(self._told_at + LEAST_BETWEEN_TELLING_S - time.monotonic(), 0))
        self._owed = False
        notification = (PROJECTED_CHANNEL, str(reached(self._connection, PROJECTIONS)))
        try:
            self._connection.execute("SELECT pg_notify(%s, %s)", notification)
        except psycopg.Error:  # for example, a session that does not read filled the queue
            if self._connection.closed or self._connection.broken:
                raise
        self._told_at = time.monotonic()


def _await_batch(
    connection: psycopg.Connection[Any], began: float, stopping: threading.Event
) -> None:
    """Wait until the next batch is due, or until `stopping`. `began` is the start of the last batch
    by `time.monotonic`; for the first batch, a time for which it is due at once on an idle machine.

    Larger batches are cheaper, above all on a busy machine.
    """
    if stopping.is_set():
        return
    position = reached(connection, PROJECTIONS)
    cores = SpareCores()
    while not stopping.wait(_POLL_S):
        spare = cores.are_idle()
        pause_s, full = (_PAUSE_S, BATCH_EVENTS) if spare else (LONGEST_PAUSE_S, _BUSY_EVENTS)
        waited_s = time.monotonic() - began
        if waited_s >= pause_s or max_position(connection) - position >= full:
            return


def _bring_up_guest(connection: psycopg.Connection[Any], guest: Projection) -> bool:
    """Update another package's projection to the end of the log; return whether it succeeded.

    One that fails is not updated again: `projections status` shows its position, and `projections
    rebuild` its error.
    """
    try:
        prepare(connection, [guest])
        while catch_up(connection, [guest]):
            pass
    except _CUT_OFF:  # the server is away: nobody can follow
        raise
    except Exception:
        return False
    return True


def main() -> None:
    """Follow the database that the first line of standard input names, until that input ends."""
    # Longer pauses, not a lower priority, make recording come before views: with a lower priority,
    # next to four workers on two cores, views fell behind without bound.
    gc.set_threshold(*COLLECT_SELDOM)
    url = sys.stdin.readline().strip()
    stopping = threading.Event()

    def watch() -> None:
        sys.stdin.read()
        stopping.set()

    threading.Thread(target=watch, name="parent", daemon=True).start()
    follow(url, stopping)


if __name__ == "__main__":
    main()
