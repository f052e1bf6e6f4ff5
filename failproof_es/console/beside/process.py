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
"""Seconds to wait for the process: longer than the server's graceful shutdown."""


class ConsoleBeside:
    """A console in a process that ends with this context at the latest.

    It listens at once, so that a port in use is an error before anything else is done. `begin`
    starts the process. If the process ends by itself, a warning is all that happens.
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
        """URL of the console, without a slash at the end."""
        return f"http://{self._settings.url_host}:{self._port}"

    def begin(self) -> None:
        """Start the process, unless it was started. A browser that connects earlier waits for it.

        Warns where no process can be started.
        """
        listening, self._listening = self._listening, None
        if listening is None:
            return
        try:
            with listening:
                self._process = self._start_process(listening.fileno())
        except (OSError, RuntimeError) as error:  # no process or no thread can be started
            self._say(f"warning: the console cannot be started: {error}. {_ELSEWHERE}")

    def _start_process(self, descriptor: int) -> Sidecar:
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
