"""The embedded model: a GGUF file served on loopback, started on demand, stopped with the run."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from typing import IO

from failproof_es.case import Turn
from failproof_es.configuration.schema import Model
from failproof_es.models.openai import OpenAIProvider
from failproof_es.models.protocol import FREE, Answer, Form, OnText, PreparedRequest
from failproof_es.models.weights import find
from failproof_es.problems import InvalidInput

SLOTS = 4
_START_TIMEOUT_S = 120


class LocalProvider:
    """Starts the server as a child process and speaks to it as to any other server.

    Requests name the endpoint as `local:/v1/...`: the port changes with every start and
    says nothing about what was asked.
    """

    def __init__(self, model: Model, *, timeout_ms: int, connections: int) -> None:
        self._model = model
        self._wire = OpenAIProvider(
            model, "local:/v1", timeout_ms=timeout_ms, connections=connections
        )
        self._base_url = ""
        self._process: asyncio.subprocess.Process | None = None
        self._log: IO[bytes] | None = None

    async def check(self) -> str | None:
        """Are the weights there, and the right ones?"""
        await asyncio.to_thread(find, self._model.model)
        return None

    async def open(self) -> None:
        """Start the server and wait until it listens. Raises `InvalidInput`."""
        if self._process is not None:
            return
        weights = await asyncio.to_thread(find, self._model.model)
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # it lives as long as the server
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "failproof_es.models.local_server", str(weights),
            "--name", self._model.model, "--slots", str(SLOTS),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=self._log,
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
                f"the embedded model {self._model.model} did not start: {self._last_words()}",
                remedy="is the file a complete GGUF model, and is there memory for it?",
            )
        self._base_url = line.removeprefix("listening ").strip() + "/v1"

    def prepare(self, messages: Sequence[Turn], form: Form = FREE) -> PreparedRequest:
        """The exact bytes to be sent. The embedded model's template knows no tools."""
        return self._wire.prepare(messages, replace(form, tools=()))

    async def send(self, request: PreparedRequest, on_text: OnText | None = None) -> Answer:
        """One attempt. Raises `ModelError`."""
        endpoint = request.endpoint.replace("local:/v1", self._base_url, 1)
        return await self._wire.send(PreparedRequest(endpoint, request.body), on_text)

    async def close(self) -> None:
        """Stop the server."""
        await self._wire.close()
        process, self._process = self._process, None
        if process is not None:
            assert process.stdin is not None
            process.stdin.close()
            try:
                async with asyncio.timeout(5):
                    await process.wait()
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if self._log is not None:
            self._log.close()
            self._log = None

    def _last_words(self) -> str:
        if self._log is None:
            return "it said nothing"
        self._log.seek(0)
        lines = self._log.read().decode("utf-8", "replace").strip().splitlines()
        return " / ".join(lines[-3:]) or "it said nothing"
