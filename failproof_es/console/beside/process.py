"""Starts the console in a process of its own, over a socket that listens already."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from dataclasses import asdict
from types import TracebackType
from typing import Self

from failproof_es.console.listening import listen
from failproof_es.console.settings import ConsoleSettings
from failproof_es.support.machine.sidecar import Sidecar

_ELSEWHERE = "The run does not need it. `failproof-es console` serves the same pages."
_LEAVE_S = 5.0
"""Longer than the server lets the requests that it is at take."""


class ConsoleBeside:
    """A console that lives as long as this is entered, at most; whatever ends the process.

    It listens at once, so that a port that is taken is told before anything else is done. The
    process begins with `begin`. When it ends by itself, that is said and nothing else happens.
    """

    def __init__(self, settings: ConsoleSettings, port_option: str, say: Callable[[str], None]):
        """Raises `InvalidInput` where it cannot listen. Port 0 is any free one."""
        self._settings = settings
        self._say = say
        self._listening: socket.socket | None = listen(settings, port_option)
        self._port: int = self._listening.getsockname()[1]
        self._process: Sidecar | None = None
        self._watching: threading.Thread | None = None
        self._leaving = False

    @property
    def url(self) -> str:
        """Where browsers find it, without a slash at the end."""
        return f"http://{self._settings.url_host}:{self._port}"

    def begin(self) -> None:
        """Start the process, unless it was started. A browser that asks earlier waits for it.

        Where no process can be started, that is said.
        """
        listening, self._listening = self._listening, None
        if listening is None:
            return
        try:
            with listening:
                self._process = self._started(listening.fileno())
        except (OSError, RuntimeError) as error:  # no process or no thread to be had
            self._say(f"warning: the console cannot be started: {error}. {_ELSEWHERE}")

    def _started(self, descriptor: int) -> Sidecar:
        message = {"descriptor": descriptor, "settings": asdict(self._settings)}
        line = json.dumps(message).encode() + b"\n"
        process = Sidecar("failproof_es.console.beside", line, descriptors=[descriptor])
        watching = threading.Thread(
            target=self._watch, args=(process,), name="console", daemon=True
        )
        try:
            watching.start()
        except RuntimeError:
            process.kill()
            raise
        self._watching = watching
        return process

    def wait(self) -> None:
        """Wait until the process ends by itself."""
        if self._watching is not None:
            self._watching.join()

    def _watch(self, process: Sidecar) -> None:
        code = process.wait()
        if not self._leaving:
            self._say(f"warning: the console ended by itself (exit code {code}). {_ELSEWHERE}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leaving = True
        if self._listening is not None:
            self._listening.close()
        process, self._process = self._process, None
        if process is not None:
            process.stop(_LEAVE_S)
