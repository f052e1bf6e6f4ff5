"""The process beside a run that sends its telemetry. It reads its task from standard input, and at
its end writes to standard output how many records the collector rejected, and why.

It reads committed events only, so the run does not depend on it. A batch is sent again until the
collector takes it, and nothing is read meanwhile: delivery is in order and at least once, and a
collector that is down costs no memory. Standard input ends when the run has ended or its process
is gone; the process then sends the rest for a few seconds, and exits.

Of the workers of a run each has such a process. The one with the run's advisory lock sends; the
others try every few seconds to take it, without a connection meanwhile, so a run with many workers
holds one connection for its telemetry. When the sender's session has ended, the next one sends
everything again, under the same ids. After the run's end nobody waits.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from uuid import UUID

import psycopg

from failproof_es.events import RUN_ENDINGS
from failproof_es.exports.otel.encoding import Sender
from failproof_es.exports.otel.endpoint import LEAVE_S, LEFT_S, SILENT_S, Delivery
from failproof_es.exports.otel.telemetry import MOST_AT_ONCE, Telemetry, TelemetryOf, first_part
from failproof_es.store.connecting import connect
from failproof_es.store.errors import UnreadableEvent
from failproof_es.store.reading.reader import Connection, find

NOT_ALL_SENT = 3
"""Exit code if the collector did not take everything."""
_NICENESS = 5
_REFUSES_EVERYTHING = 8
"""Single refusals in a row after which no more telemetry is skipped."""
_EVENTS = 500
_LOOK_AGAIN_S = 0.5
_LONGEST_PAUSE_S = 30.0
_LOOK_AT_SILENCE_S = 0.05
_TRY_AGAIN_S = 10.0
"""Seconds between two tries to take the lock of a run."""
_HANDOVER_S = _TRY_AGAIN_S + 5.0
"""Seconds after the end of a run for which its lock is held, so that those who wait leave."""
_TAKE_LOCK = "SELECT pg_try_advisory_lock(hashtextextended('failproof.otel ' || %s, 0))"
_IS_OVER = (
    "SELECT EXISTS (SELECT FROM failproof.stored_events WHERE originator_id = %s "
    "AND topic = ANY(%s))"
)
_NOT_YET = (Delivery.AGAIN, Delivery.SILENT)


class CommitSender:
    """Sends the committed events of a run, each batch by calling `send`.

    `ended` is set when no more events will come; unsent telemetry is then retried for `left_s`
    seconds. `content` includes prompts and answers. `shared`: other processes send the same run's.
    """

    def __init__(
        self,
        run_id: UUID,
        send: Callable[[list[Telemetry]], Delivery],
        ended: threading.Event,
        *,
        content: bool = False,
        shared: bool = False,
        left_s: float = LEFT_S,
    ) -> None:
        self._run_id = run_id
        self._send = send
        self._ended = ended
        self._maker = TelemetryOf(content)
        self._shared = shared
        self._is_over = False
        self._left_s = left_s
        self._position = 0
        self._unsent: list[Telemetry] = []
        self._deadline: float | None = None
        self._silent_since: float | None = None
        self.refused = 0
        """Number of spans and events that were skipped because the collector never takes them."""
        self._refused_in_a_row = 0

    def follow(self, connection: Connection) -> bool | None:
        """Send until the run has ended. True if nothing is left to send, false if time ran out.

        `None`, at once, while another process sends; it may be gone at the next call. Raises
        `psycopg.Error` if the log cannot be read: a call with another connection continues without
        loss.
        """
        if self._shared and not self._take_lock(connection):
            return True if self._ended.is_set() or self._is_run_over(connection) else None
        while True:
            # Read before the events: one that is committed later is read in another round.
            ended = self._ended.is_set()
            events = self._read_events(connection)
            if not self._send_unsent():
                return False
            if ended and not events:
                return True
            if self._shared and self._is_over and not events:
                self._ended.wait(_HANDOVER_S)
                return True
            if not events:
                self._ended.wait(_LOOK_AGAIN_S)

    def _take_lock(self, connection: Connection) -> bool:
        [[is_ours]] = connection.execute(_TAKE_LOCK, (str(self._run_id),)).fetchall()
        return bool(is_ours)

    def _is_run_over(self, connection: Connection) -> bool:
        [[is_over]] = connection.execute(_IS_OVER, (self._run_id, list(RUN_ENDINGS))).fetchall()
        return bool(is_over)

    def _read_events(self, connection: Connection) -> int:
        """Read the next events and make their telemetry; return the number of events read."""
        events = 0
        for row in find(connection, run_id=self._run_id, after=self._position, limit=_EVENTS):
            with suppress(UnreadableEvent):  # `verify` says what is wrong with it
                self._unsent.extend(self._maker.take(row.event()))
            self._is_over |= row.topic in RUN_ENDINGS
            events += 1
            self._position = row.position
        return events

    def _send_unsent(self) -> bool:
        """Send what was read in parts, each again until the collector accepts it.

        False if time ran out. If the collector never accepts a part, half of it is sent: in the end
        the one span or event at fault is skipped and counted, and the rest is sent.
        """
        most = MOST_AT_ONCE
        pause = _LOOK_AGAIN_S
        while part := list(first_part(self._unsent[:most])):
            delivery = self._send_part(part)
            if delivery is not Delivery.TAKEN and self._is_overdue():
                return False
            if delivery is Delivery.REFUSED and len(part) > 1:
                most = len(part) // 2
            elif delivery in _NOT_YET or self._refused_in_a_row == _REFUSES_EVERYTHING:
                self._ended.wait(pause)
                if self._ended.is_set():
                    time.sleep(min(_LOOK_AGAIN_S, self._left_s / 10))
                pause = min(pause * 2, _LONGEST_PAUSE_S)
            else:
                refused = delivery is Delivery.REFUSED
                self.refused += refused
                self._refused_in_a_row = self._refused_in_a_row + 1 if refused else 0
                del self._unsent[: len(part)]
                most, pause = min(2 * most, MOST_AT_ONCE), _LOOK_AGAIN_S
        return True

    def _send_part(self, part: list[Telemetry]) -> Delivery:
        if self._silent_since is None:
            self._silent_since = time.monotonic()
        delivery = self._send(part)
        if delivery is not Delivery.SILENT:
            self._silent_since = None
        return delivery

    def is_silent(self) -> bool:
        """Whether the collector was asked two seconds ago or more and has not answered since."""
        since = self._silent_since
        return since is not None and time.monotonic() - since >= SILENT_S

    def _is_overdue(self) -> bool:
        if not self._ended.is_set():
            return False
        if self.is_silent():
            return True
        if self._deadline is None:
            self._deadline = time.monotonic() + self._left_s
        return time.monotonic() >= self._deadline


def main() -> None:
    """Send the telemetry of one run until standard input ends, then exit.

    The exit code is 0, or `NOT_ALL_SENT`.
    """
    os.nice(_NICENESS)  # the run has priority
    settings = json.loads(sys.stdin.readline())
    ended = threading.Event()

    def report_end() -> int:
        rejected = sender.rejected + following.refused
        sys.stdout.write(json.dumps({"rejected": rejected, "why": sender.why}) + "\n")
        sys.stdout.flush()
        return rejected

    def leave() -> None:
        report_end()
        os._exit(NOT_ALL_SENT)

    def watch() -> None:
        sys.stdin.read()
        ended.set()
        stop_at = time.monotonic() + LEAVE_S  # for a collector that answers too slowly, or never
        while time.monotonic() < stop_at and not following.is_silent():
            time.sleep(_LOOK_AT_SILENCE_S)
        leave()

    sender = Sender(settings["endpoint"], timeout_s=LEFT_S)
    following = CommitSender(
        UUID(settings["run_id"]), sender.send, ended,
        content=settings["content"], shared=settings["shared"],
    )  # fmt: skip
    threading.Thread(target=watch, name="parent", daemon=True).start()
    while True:
        try:
            with connect(settings["database_url"], autocommit=True) as connection:
                everything = following.follow(connection)
            if everything is None:
                ended.wait(_TRY_AGAIN_S)
                continue
            sys.exit(NOT_ALL_SENT if report_end() or not everything else 0)
        except psycopg.OperationalError:
            if ended.wait(_LOOK_AGAIN_S):
                sys.exit(NOT_ALL_SENT)


if __name__ == "__main__":
    main()
