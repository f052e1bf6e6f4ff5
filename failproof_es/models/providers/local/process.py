"""The server processes of embedded models: one for each file of weights, shared by all its users.

The first user starts it, the last one stops it. A model and a judge with the same
weights would otherwise have two servers that fight for the same cores.
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
"""However many cores there are: each slot takes memory for a whole context."""
_SLOTS_ON_A_CORE = 2
"""The weights are read once for the next token of all slots, so two take little more than one."""
SLOTS = min(_SLOTS_ON_A_CORE * usable_cores(), MOST_SLOTS)
"""How many requests it answers side by side. What it is sent beyond that would wait inside it."""
_SERVER = Path(__file__).with_name("server.py")
"""Run as a file: as a module of this package it would import the whole package first."""
_UNHURRIED = {"OMP_WAIT_POLICY": "passive"}
"""A thread that waits for another one sleeps: where it spins on a busy machine it holds the core
that the other one needs, and an answer takes ten to twenty times as long."""
_START_TIMEOUT_S = 120
_STOP_TIMEOUT_S = 5


class LocalProcess:
    """A server as a child process, and how many use it.

    It is shared within an event loop, by those who want the same weights under the same name:
    it puts its name to every answer.
    """

    _shared: ClassVar[dict[tuple[asyncio.AbstractEventLoop, Path, str], LocalProcess]] = {}

    def __init__(self, weights: Path, name: str) -> None:
        self._place = (asyncio.get_running_loop(), weights, name)
        self._users = 0
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # it lives as long as the server
        self._process: asyncio.subprocess.Process | None = None
        self._starting = asyncio.create_task(self._start(), name="embedded model")

    @classmethod
    def join(cls, weights: Path, name: str) -> LocalProcess:
        """The server of these weights, begun where there is none or only one that has died.

        Whoever joins must `release`, also when it did not start.
        """
        place = (asyncio.get_running_loop(), weights, name)
        server = cls._shared.get(place)
        if server is None or server._has_died:
            server = cls._shared[place] = cls(weights, name)
        server._users += 1
        return server

    async def url(self) -> str:
        """Where it listens, once it does. Raises `InvalidInput` when it does not start."""
        return await asyncio.shield(self._starting)

    async def release(self) -> None:
        """Release the server. It stops when its last user releases it."""
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
            env={**os.environ, **_UNHURRIED},
            start_new_session=True,  # Ctrl-C is for us: the server stops when we do
        )  # fmt: skip
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(_START_TIMEOUT_S):
                line = (await self._process.stdout.readline()).decode()
        except TimeoutError:
            line = ""
        if not line.startswith("listening "):
            raise InvalidInput.because(
                f"the embedded model {name} did not start: {self._last_words()}",
                remedy="is the file a complete GGUF model, and is there memory for it?",
            )
        return line.removeprefix("listening ").strip()

    def _last_words(self) -> str:
        self._log.seek(0)
        lines = self._log.read().decode("utf-8", "replace").strip().splitlines()
        return " / ".join(lines[-3:]) or "it said nothing"


async def _stop(process: asyncio.subprocess.Process) -> None:
    """End its standard input, which ends it; kill it when it stays."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        async with asyncio.timeout(_STOP_TIMEOUT_S):
            await process.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
