"""Starts the processes that send the telemetry of runs, and ends them after the runs."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from socket import create_connection
from typing import Self
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass
from uuid import UUID

from failproof_es.events import Event
from failproof_es.exports.otel.endpoint import LEAVE_S
from failproof_es.support.machine.sidecar import Sidecar
from failproof_es.support.untrusted_text import one_line

_LONGEST_LINE = 10_000
_TO_CONNECT_S = 0.5
_TO_BE_SCHEDULED_S = 0.2
"""Seconds that a busy machine may leave a thread without a processor."""
_PORTS = {"http": 80, "https": 443}
_TO_SAY_WHY_S = 1.0
"""Seconds added to the process's own limit, for its report at the end."""


class TelemetryBeside:
    """Sends the telemetry of one run from a separate process, whose failures never stop the run.

    A context manager: at its end, unsent telemetry is reported by `say`, with the command that
    sends it. `content` includes prompts and answers. `shared`: other workers of the run do the
    same, and one of the processes sends at a time.
    """

    def __init__(
        self,
        database_url: str,
        endpoint: str,
        say: Callable[[str], None],
        *,
        content: bool,
        shared: bool = False,
    ) -> None:
        self._settings = {
            "database_url": database_url, "endpoint": endpoint, "content": content,
            "shared": shared,
        }  # fmt: skip
        self._say = say
        self._endpoint = endpoint
        self._process: Sidecar | None = None
        self._run: int | UUID = 0

    def follow(self, run_id: UUID, run_number: int | None = None) -> None:
        """Start to send the events of this run, from its first one on.

        Only the first call starts a process. A process that cannot be started is reported, not
        raised.
        """
        if self._process is not None:
            return
        self._run = run_id if run_number is None else run_number
        message = json.dumps({**self._settings, "run_id": str(run_id)}).encode() + b"\n"
        try:
            self._process = Sidecar("failproof_es.exports.otel.follow", message, answers=True)
        except OSError as error:
            self._say(f"warning: no telemetry can be sent: {error}. The run does not need it.")

    @property
    def has_ended(self) -> bool:
        """Whether its process has exited by itself: everything is sent, or it cannot be."""
        return self._process is None or self._process.has_ended

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process, and report unsent telemetry. Idempotent."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.has_ended or is_reachable(self._endpoint):
            code = process.stop(LEAVE_S + _TO_SAY_WHY_S)
            with process.output as output:
                reason = _describe_end(output.read(_LONGEST_LINE))
        else:
            process.kill()
            code, reason = None, ": nothing answers there"
        if code != 0:
            self._say(
                f"warning: not all telemetry reached {self._endpoint}{reason}. The log has it: "
                f"`failproof-es export {self._run} --shape otel --with "
                f"endpoint={self._endpoint} -o FOLDER`"
            )


class TelemetryOfRuns:
    """Sends the telemetry of every run that a worker drives; a context manager.

    `make` makes the sender of one run. The sender of a run that is over is closed when the next run
    begins: a worker may drive any number of runs.
    """

    def __init__(self, make: Callable[[], TelemetryBeside]) -> None:
        self._make = make
        self._senders: list[TelemetryBeside] = []
        self._runs: set[UUID] = set()

    def observe(self, event: Event) -> None:
        """Start to send the telemetry of the event's run, unless that began before."""
        if event.run_id is None or event.run_id in self._runs:
            return
        for sender in [sender for sender in self._senders if sender.has_ended]:
            self._senders.remove(sender)
            sender.close()
        self._runs.add(event.run_id)
        sender = self._make()
        self._senders.append(sender)
        sender.follow(event.run_id)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        with ExitStack() as stack:
            for sender in self._senders:
                stack.callback(sender.close)


def is_reachable(endpoint: str) -> bool:
    """Whether a server accepts connections at the endpoint within half a second.

    True, too, if requests to it go through a proxy.
    """
    where = urlsplit(endpoint)
    host, port = where.hostname or "", where.port or _PORTS[where.scheme]
    if where.scheme in getproxies() and not proxy_bypass(host):
        return True
    connected = threading.Event()

    def connect() -> None:
        with suppress(OSError, UnicodeError), create_connection((host, port), _TO_CONNECT_S):
            connected.set()

    # in a thread, because nothing bounds the time that a name takes to resolve
    thread = threading.Thread(target=connect, name="collector", daemon=True)
    thread.start()
    thread.join(_TO_CONNECT_S + _TO_BE_SCHEDULED_S)
    return connected.is_set()


def _describe_end(line: bytes) -> str:
    """The process's reason for unsent telemetry, from its last line; `: ` comes before it.

    Empty if the process reported none.
    """
    try:
        report = json.loads(line)
        rejected, why = int(report["rejected"]), one_line(report["why"])
    except (ValueError, TypeError, KeyError):
        return ""
    why = why or "it did not take it in time"
    return f": it rejected {rejected} spans and events: {why}" if rejected else f": {why}"
