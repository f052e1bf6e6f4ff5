"""The server processes of embedded models: one for each file of weights, shared by all its users.

The first user starts the server, the last one stops it. A model and a judge with the same weights
would otherwise have two servers that compete for the same cores.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import tempfile
from pathlib import Path
from typing import ClassVar

from failproof_es.problems import InvalidInput
from failproof_es.support.cores import usable_cores

MOST_SLOTS = 8
"""The most slots on any machine: each slot takes memory for a whole context."""
_SLOTS_PER_CORE = 2
"""One pass over the weights computes a token for all slots: two take little more than one."""
SLOTS = min(_SLOTS_PER_CORE * usable_cores(), MOST_SLOTS)
"""Requests that a server answers in parallel; further ones would queue inside it."""
_SERVER = Path(__file__).with_name("server.py")
"""Runs as a file: as a module of this package it would import the whole package first."""
_SLEEPING_WAITS = {"OMP_WAIT_POLICY": "passive"}
"""Waiting threads sleep. Spinning ones hold the core that the awaited thread needs on a busy
machine, and an answer takes 10 to 20 times as long."""
_START_TIMEOUT_S = 120
_STOP_TIMEOUT_S = 5


class LocalProcess:
    """A server as a child process, with the number of its users.

    Users in one event loop share it if they have the same weights and the same model name, which
    the server writes into every answer.
    """

    _shared: ClassVar[dict[tuple[asyncio.AbstractEventLoop, Path, str], LocalProcess]] = {}

    def __init__(self, weights: Path, name: str) -> None:
        self._place = (asyncio.get_running_loop(), weights, name)
        self._users = 0
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # open as long as the server
        self._process: asyncio.subprocess.Process | None = None
        self._starting = asyncio.create_task(self._start(), name="embedded model")

    @classmethod
    def join(cls, weights: Path, name: str) -> LocalProcess:
        """The running server of these weights, or a new one; `name` is the model's name in answers.

        Each `join` needs a `release`, even if the server did not start.
        """
        place = (asyncio.get_running_loop(), weights, name)
        server = cls._shared.get(place)
        if server is None or server._has_died:
            server = cls._shared[place] = cls(weights, name)
        server._users += 1
        return server

    async def url(self) -> str:
        """The server's URL, once it listens. Raises `InvalidInput` if it does not start."""
        return await asyncio.shield(self._starting)

    async def release(self) -> None:
        """Give the server up; it stops with its last user."""
        self._users -= 1
        if self._users:
            return
        if self._shared.get(self._place) is self:
            del self._shared[self._place]
        self._starting.cancel()
        await asyncio.gather(self._starting, return_exceptions=True)
        if self._process is not None:
            await _stop(self._process)
        self._log.close()

    @property
    def _has_died(self) -> bool:
        return self._process is not None and self._process.returncode is not None

    async def _start(self) -> str:
        _, weights, name = self._place
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", str(_SERVER), str(weights),
            "--name", name, "--slots", str(SLOTS), "--threads", str(usable_cores()),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=self._log,
            env={**os.environ, **_SLEEPING_WAITS},
            start_new_session=True,  # keeps Ctrl-C from the server, which ends with us
        )  # fmt: skip
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(_START_TIMEOUT_S):
                line = (await self._process.stdout.readline()).decode()
        except TimeoutError:
            line = ""
        if not line.startswith("listening "):
            raise InvalidInput.because(
                "model-not-started",
                f"the embedded model {name} did not start: {self._log_tail()}",
                remedy="check that the file is a complete GGUF model, and that it fits into memory",
            )
        return line.removeprefix("listening ").strip()

    def _log_tail(self) -> str:
        self._log.seek(0)
        lines = self._log.read().decode("utf-8", "replace").strip().splitlines()
        return " / ".join(lines[-3:]) or "it said nothing"


async def _stop(process: asyncio.subprocess.Process) -> None:
    """Close the process's standard input, which ends it; kill it after 5 s."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        async with asyncio.timeout(_STOP_TIMEOUT_S):
            await process.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
