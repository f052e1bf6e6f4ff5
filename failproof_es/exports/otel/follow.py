"""The process beside a run that sends its telemetry. It reads what to follow from standard input,
and writes to standard output, at its end, how much the collector rejected, and why.

It reads what is committed and nothing else, so a run does not know that it is there. A batch is
sent again until the collector took it, and nothing is read meanwhile: what the collector got, it
got at least once and in order, and a collector that is down costs no memory. When standard input
ends the run has ended, or its process is gone: what is left has a few seconds, and then it ends.
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

from failproof_es.exports.otel.encoding import Sender
from failproof_es.exports.otel.endpoint import LEAVE_S, LEFT_S, Delivery
from failproof_es.exports.otel.telemetry import MOST_AT_ONCE, Telemetry, TelemetryOf, first_part
from failproof_es.store.connecting import connect
from failproof_es.store.errors import UnreadableEvent
from failproof_es.store.reading.reader import Connection, find

NOT_ALL_SENT = 3
"""The exit code where something was left that the collector did not take."""
_NICENESS = 5
_REFUSES_EVERYTHING = 8
"""After so many in a row that were refused one by one, no more of them is left out."""
_EVENTS = 500
_LOOK_AGAIN_S = 0.5
_LONGEST_PAUSE_S = 30.0


class CommitSender:
    """Sends what a run commits. `ended` is set when nothing more will come."""

    def __init__(
        self,
        run_id: UUID,
        send: Callable[[list[Telemetry]], Delivery],
        ended: threading.Event,
        *,
        content: bool = False,
        left_s: float = LEFT_S,
    ) -> None:
        self._run_id = run_id
        self._send = send
        self._ended = ended
        self._maker = TelemetryOf(content)
        self._left_s = left_s
        self._position = 0
        self._unsent: list[Telemetry] = []
        self._deadline: float | None = None
        self.refused = 0
        """Spans and events that the collector never takes."""
        self._refused_in_a_row = 0

    def follow(self, connection: Connection) -> bool:
        """Until it has ended; whether everything was taken.

        Raises `psycopg.Error` where the log cannot be read: call it again with another connection,
        and nothing is left out.
        """
        while True:
            ended = self._ended.is_set()  # before it is read: what comes after is read once more
            events = self._read_events(connection)
            if not self._sent():
                return False
            if ended and not events:
                return True
            if not events:
                self._ended.wait(_LOOK_AGAIN_S)

    def _read_events(self, connection: Connection) -> int:
        """The next events, and what they tell; returns how many there were."""
        events = 0
        for row in find(connection, run_id=self._run_id, after=self._position, limit=_EVENTS):
            with suppress(UnreadableEvent):  # `verify` says what is wrong with it
                self._unsent.extend(self._maker.take(row.event()))
            events += 1
            self._position = row.position
        return events

    def _sent(self) -> bool:
        """Send what was read in parts, each again until it is taken or the time is over.

        Of a part that the collector never takes, half is sent: in the end the one span or event
        that it means is left out, and counted, and what comes after it is sent.
        """
        most = MOST_AT_ONCE
        pause = _LOOK_AGAIN_S
        while part := list(first_part(self._unsent[:most])):
            delivery = self._send(part)
            if delivery is not Delivery.TAKEN and self._over():
                return False
            if delivery is Delivery.REFUSED and len(part) > 1:
                most = len(part) // 2
            elif delivery is Delivery.AGAIN or self._refused_in_a_row == _REFUSES_EVERYTHING:
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

    def _over(self) -> bool:
        if not self._ended.is_set():
            return False
        if self._deadline is None:
            self._deadline = time.monotonic() + self._left_s
        return time.monotonic() >= self._deadline


def main() -> None:
    """Follow one run until standard input ends."""
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
        stop = threading.Timer(LEAVE_S, leave)  # a collector that trickles
        stop.daemon = True
        stop.start()

    sender = Sender(settings["endpoint"], timeout_s=LEFT_S)
    following = CommitSender(
        UUID(settings["run_id"]), sender.send, ended, content=settings["content"]
    )
    threading.Thread(target=watch, name="parent", daemon=True).start()
    while True:
        try:
            with connect(settings["database_url"], autocommit=True) as connection:
                everything = following.follow(connection)
            sys.exit(NOT_ALL_SENT if report_end() or not everything else 0)
        except psycopg.OperationalError:
            if ended.wait(_LOOK_AGAIN_S):
                sys.exit(NOT_ALL_SENT)


if __name__ == "__main__":
    main()
