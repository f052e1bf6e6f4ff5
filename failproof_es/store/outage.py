"""Waits for a database server that is unreachable."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

import psycopg

from failproof_es.store.errors import DatabaseAway, JournalError, ReadOnlyLog

if TYPE_CHECKING:
    from tenacity import RetryCallState

T = TypeVar("T")

AWAY = (
    psycopg.OperationalError,
    psycopg.errors.ReadOnlySqlTransaction,
    DatabaseAway,
)
"""The errors of a statement while the database is away, or is a standby that takes no writes."""


CONTENTION = (
    psycopg.errors.DeadlockDetected,
    psycopg.errors.SerializationFailure,
    psycopg.errors.LockNotAvailable,
)
"""The errors of a statement that conflicts with another session. It can be repeated at once."""
_WORTH_SAYING_S = 1.0
_GONE = ("08", "57P")
"""Prefixes of the SQLSTATEs with which a server ends a session."""


def server_answered(error: psycopg.Error) -> bool:
    """Whether a running server refused the statement. The driver's class does not tell: it is the
    same for deadlocks, full disks and cancelled statements as for a server that is away."""
    return error.sqlstate is not None and not error.sqlstate.startswith(_GONE)


class LogUnavailable(Exception):
    """The log could not be reached for too long; nothing more is sent."""


UNAVAILABLE = (*AWAY, LogUnavailable, JournalError, ReadOnlyLog)
"""Errors after which another worker, or a later try, may go on: `AWAY`, and those after waiting."""


class OutageReport:
    """Says once that the database is away, and once that it is back, however many threads wait."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._lock = Lock()
        self._since: float | None = None

    @property
    def is_away(self) -> bool:
        """Whether the outage lasts, by what was said."""
        return self._since is not None

    def away(self, error: BaseException | None, lasted_s: float) -> None:
        """Report an outage that lasts long enough to be more than a lost connection."""
        if lasted_s < _WORTH_SAYING_S or (
            isinstance(error, psycopg.Error) and server_answered(error)
        ):
            return
        with self._lock:
            if self._since is None:
                self._since = time.monotonic() - lasted_s
                self._say(f"the database is away: {' '.join(str(error).split())}; waiting for it")

    def back(self) -> None:
        """Report the end of the outage, if its begin was reported."""
        with self._lock:
            if self._since is not None:
                self._say(f"the database is back after {time.monotonic() - self._since:.0f} s")
            self._since = None


@dataclass(frozen=True, slots=True)
class Outage:
    """The wait for an unreachable server, and its recovery.

    `recover` is called between tries, in the waiting thread; it returns the reason why the server
    cannot be started now, if known. `report` says that the server is away, and that it is back.
    """

    longest_s: float = 300.0
    recover: Callable[[], str | None] | None = None
    report: OutageReport | None = None

    def retry(self, call: Callable[[], T], away: tuple[type[Exception], ...] = AWAY) -> T:
        """Return what `call` returns; call it again while it raises one of `away`.

        Raises `LogUnavailable` after `longest_s` seconds, with the last error.
        """
        from tenacity import Retrying, retry_if_exception_type, stop_after_delay
        from tenacity.wait import wait_exponential

        reasons: list[str | None] = [None]

        def recover(state: RetryCallState) -> None:
            if self.report is not None and state.outcome is not None:
                self.report.away(state.outcome.exception(), state.seconds_since_start or 0.0)
            if self.recover is not None:
                reasons.append(self.recover())

        retrying = Retrying(
            retry=retry_if_exception_type(away),
            wait=wait_exponential(multiplier=0.1, max=5),
            stop=stop_after_delay(self.longest_s),
            before_sleep=recover,
            reraise=True,
        )
        try:
            result = retrying(call)
            if self.report is not None:  # an earlier call may have given up meanwhile
                self.report.back()
            return result
        except away as error:
            reason = reasons[-1] or error
            raise LogUnavailable(
                f"the log could not be reached for {self.longest_s:g} s: {reason}"
            ) from error
