"""The embedded model: a GGUF file served on loopback, started on demand, stopped with the run."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from failproof_es.case import Turn
from failproof_es.configuration.schema import Model
from failproof_es.models.completion import complete, with_parameters
from failproof_es.models.local_process import LocalProcess
from failproof_es.models.openai import OpenAIProvider
from failproof_es.models.protocol import FREE, Answer, Form, OnText, PreparedRequest
from failproof_es.models.weights import find


class LocalProvider:
    """Speaks to the server of its weights as to any other server.

    Requests name the endpoint as `local:/v1/...`: the port changes with every start and
    says nothing about what was asked.
    """

    def __init__(self, model: Model, *, timeout_ms: int, connections: int) -> None:
        self._model = model
        self._timeout_ms = timeout_ms
        self._wire = OpenAIProvider(
            model, "local:/v1", timeout_ms=timeout_ms, connections=connections
        )
        self._base_url = ""
        self._server: LocalProcess | None = None

    def get_completion(self, prompt: str, params: Mapping[str, Any]) -> str:
        """See `Provider.get_completion`. Starts the server and stops it again."""
        model = with_parameters(self._model, params)
        once = LocalProvider(model, timeout_ms=self._timeout_ms, connections=1)
        return complete(once, model, prompt)

    async def check(self, *, offline: bool = False) -> str | None:
        """Are the weights there, and the right ones? Nothing is asked of anybody."""
        await asyncio.to_thread(find, self._model.model)
        return None

    async def open(self) -> None:
        """Start the server, unless somebody did, and wait until it listens.

        Raises `InvalidInput`.
        """
        if self._server is not None:
            return
        weights = await asyncio.to_thread(find, self._model.model)
        self._server = LocalProcess.join(weights, self._model.model)
        self._base_url = await self._server.url() + "/v1"

    def prepare(self, messages: Sequence[Turn], form: Form = FREE) -> PreparedRequest:
        """The exact bytes to be sent. The embedded model's template knows no tools."""
        return self._wire.prepare(messages, replace(form, tools=()))

    async def send(self, request: PreparedRequest, on_text: OnText | None = None) -> Answer:
        """One attempt. Raises `ModelError`."""
        endpoint = request.endpoint.replace("local:/v1", self._base_url, 1)
        return await self._wire.send(PreparedRequest(endpoint, request.body), on_text)

    async def close(self) -> None:
        """Let go of the server, which stops unless somebody else wants it."""
        await self._wire.close()
        server, self._server = self._server, None
        if server is not None:
            await server.leave()
