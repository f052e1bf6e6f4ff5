"""Follows the log during a run, in a process of its own.

A process, because a run keeps one core busy and the projections should not slow it down. A run
that is over within two seconds is not worth one: what it wrote is taken in when it has ended.
`python -m projections.follower` reads the database's URL from its first line of standard
input, follows, and when standard input ends takes in what is there and ends too: it never
outlives the run, however that died.
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
"""From the begin of one batch to that of the next, unless as much waits as a batch may hold. An
evaluation that is under way at the end of a batch is read again with the next one: the fewer
batches, the less of that. Readers do not wait: they catch up themselves. Live viewers do wait."""
LONGEST_PAUSE_S = 10.0
_BUSY_EVENTS = 50_000
"""The same where all cores are busy: recording comes before views. So many events are one or two
seconds for a reader that catches up."""
_SPARE_CORES = 0.25
"""So much of a core must be idle, or all of them are busy."""
LEAST_BETWEEN_TELLING_S = 0.5
"""Between two words to readers that there is something new."""
_CUT_OFF = (psycopg.OperationalError, psycopg.errors.IdleInTransactionSessionTimeout)
_DRAIN_S = 60.0
BEGIN_AFTER_S = 2.0
"""Who is done by then follows at the end, here: a process takes longer to start than that."""


class Follower:
    """Keeps every projection current beside whatever writes the log.

    It never disturbs the run: while the server is away it waits, and what it could not
    take in it takes in later. Leaving the context takes in what was written meanwhile, here where
    the process of the follower was killed.
    """

    def __init__(self, url: str, begin_after_s: float = BEGIN_AFTER_S) -> None:
        """The process begins after so many seconds; at once where another package's code is
        to follow, too: that never runs in this process.
        """
        self._url = url
        self._begin_after_s = 0.0 if names_of_others() else begin_after_s
        self._process: Sidecar | None = None
        self._stopping = threading.Event()
        self._waiting: threading.Thread | None = None
        self.kept_up = True
        """False, once stopped, if it did not come to the end of the log."""

    def start(self) -> None:
        """Begin to follow, or to wait whether it is worth it."""
        if not self._begin_after_s:
            self._begin()
            return
        self._waiting = threading.Thread(target=self._begin_later, name="follower", daemon=True)
        self._waiting.start()

    def _begin_later(self) -> None:
        if not self._stopping.wait(self._begin_after_s):
            with contextlib.suppress(OSError):  # no process could be started: follow at the end
                self._begin()

    def _begin(self) -> None:
        self._process = Sidecar("projections.follower", self._url.encode() + b"\n")

    def stop(self) -> None:
        """Follow to the end of the log, and stop."""
        self._stopping.set()
        if self._waiting is not None:
            self._waiting.join()
        process, self._process = self._process, None
        if process is None:
            self.kept_up = _caught_up(self._url, self._stopping)
            return
        code = process.stop(_DRAIN_S)
        self.kept_up = code == 0 or (code is not None and _caught_up(self._url, self._stopping))

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
    """Whether this machine has processor time to spare, since this was made."""

    def __init__(self) -> None:
        self._began, self._idle_s = time.monotonic(), _idle_s()

    def are_idle(self) -> bool:
        """Whether enough of a core was idle, on average. Ask after some tenths of a second."""
        passed_s = max(time.monotonic() - self._began, 1e-3)
        return (_idle_s() - self._idle_s) / passed_s >= _SPARE_CORES


def _idle_s() -> float:
    """How long the cores of this machine have had nothing to do, all together, in seconds."""
    import psutil  # only the process that follows needs it

    times = psutil.cpu_times()
    return float(times.idle + getattr(times, "iowait", 0.0))


def _caught_up(url: str, stopping: threading.Event) -> bool:
    """Follow to the end of the log in this process; whether that went well, and in time."""
    done = threading.Event()

    def take_in() -> None:
        with contextlib.suppress(Exception):  # nothing is lost: `kept_up` reports it
            follow(url, stopping)
            done.set()

    taking = threading.Thread(target=take_in, name="follower", daemon=True)
    taking.start()
    taking.join(_DRAIN_S)
    return done.is_set()


def follow(url: str, stopping: threading.Event) -> None:
    """Follow until `stopping` is set, then once more to the end of the log."""
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
            guests = [guest for guest in guests if _follows(connection, guest)]
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
    """Tells readers that projections were brought up, at most twice a second.

    They poll besides, so nothing depends on it. Whoever appends tells them nothing: it would
    read what it wrote before.
    """

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        self._owed = False
        self._told_at = float("-inf")

    def tell_soon(self) -> None:
        """Tell now, or where it was told lately with `tell_now`."""
        self._owed = True
        if time.monotonic() - self._told_at >= LEAST_BETWEEN_TELLING_S:
            self.tell_now()

    def tell_now(self, *, wait: bool = True) -> None:
        """Tell what is not told yet, if anything; a moment later where it was told lately."""
        if not self._owed:
            return
        if wait:
            time.sleep(max(self._told_at + LEAST_BETWEEN_TELLING_S - time.monotonic(), 0))
        self._owed = False
        notification = (PROJECTED_CHANNEL, str(reached(self._connection, PROJECTIONS)))
        try:
            self._connection.execute("SELECT pg_notify(%s, %s)", notification)
        except psycopg.Error:  # as of a queue that somebody who does not read it filled
            if self._connection.closed or self._connection.broken:
                raise
        self._told_at = time.monotonic()


def _await_batch(
    connection: psycopg.Connection[Any], began: float, stopping: threading.Event
) -> None:
    """Wait until the next batch is due, or until the end. `began` is when the last one did, by
    `time.monotonic`; before the first one so that it is due now if there is a core for it.

    What waits is cheaper to apply together, and most of all where the machine is busy.
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


def _follows(connection: psycopg.Connection[Any], guest: Projection) -> bool:
    """Let another package's projection come as far as the log; whether it could.

    One that could not is left alone from then on: `projections status` shows where it stands,
    and `projections rebuild` what it says.
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
    """Follow until standard input ends."""
    # Recording comes before views by how long a batch waits, not by a lower priority: beside four
    # workers on two cores that let views fall behind without bound.
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
