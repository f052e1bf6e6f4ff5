"""Starts the process that sends a run's telemetry, and ends it after the run."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import TracebackType
from typing import Self
from uuid import UUID

from failproof_es.exports.otel.endpoint import LEAVE_S
from failproof_es.support.machine.sidecar import Sidecar
from failproof_es.support.untrusted_text import one_line

_LONGEST_LINE = 10_000
_TO_SAY_WHY_S = 1.0
"""Seconds added to the process's own limit, for its report at the end."""


class TelemetryBeside:
    """Sends the telemetry of one run from a separate process, whose failures never stop the run.

    A context manager: at its end, unsent telemetry is reported by `say`, with the command that
    sends it. `content` includes prompts and answers.
    """

    def __init__(
        self, database_url: str, endpoint: str, say: Callable[[str], None], *, content: bool
    ) -> None:
        self._settings = {"database_url": database_url, "endpoint": endpoint, "content": content}
        self._say = say
        self._endpoint = endpoint
        self._process: Sidecar | None = None

    def follow(self, run_id: UUID) -> None:
        """Start to send the events of this run, from its first one on.

        Only the first call starts a process. A process that cannot be started is reported, not
        raised.
        """
        if self._process is not None:
            return
        message = json.dumps({**self._settings, "run_id": str(run_id)}).encode() + b"\n"
        try:
            self._process = Sidecar("failproof_es.exports.otel.follow", message, answers=True)
        except OSError as error:
            self._say(f"warning: no telemetry can be sent: {error}. The run does not need it.")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        code = process.stop(LEAVE_S + _TO_SAY_WHY_S)
        with process.output as output:
            line = output.read(_LONGEST_LINE)
        if code != 0:
            reason = _describe_end(line)
            self._say(
                f"warning: not all telemetry reached {self._endpoint}{reason}. The log has it: "
                f"`failproof-es export RUN --shape otel --with endpoint={self._endpoint} -o FOLDER`"
            )


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
