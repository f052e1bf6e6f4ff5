"""The embedded model: a GGUF file served on loopback, started on demand, stopped with the run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any

from failproof_es.configuration.schema import Model
from failproof_es.core.case import Turn
from failproof_es.models.catalog.listing import CheckCache
from failproof_es.models.completion import complete, with_parameters
from failproof_es.models.protocol import (
    DEFAULT_RESPONSE_OPTIONS,
    Answer,
    ModelError,
    OnText,
    PreparedRequest,
    ResponseOptions,
)
from failproof_es.models.providers.local.process import LocalProcess
from failproof_es.models.providers.local.progress import ServerActivity
from failproof_es.models.providers.local.weights import INSTALLABLE, find, location
from failproof_es.models.providers.openai.provider import OpenAIProvider
from failproof_es.support.extras import require
from failproof_es.web.client import UNUSABLE, fetch, open_client

_LONGEST_MS = 7 * 24 * 60 * 60 * 1000
"""The time-out of a request, a week: only a lack of progress ends it."""
_LARGEST_STATE = 2**24


class LocalProvider:
    """Sends requests to the server of its weights over OpenAI's protocol.

    `timeout_ms` limits the time without progress, not the duration of an answer.

    Requests name the endpoint as `local:/v1/...`: the port changes with every start and does not
    belong in the record.
    """

    def __init__(self, model: Model, *, timeout_ms: int, connections: int) -> None:
        self._model = model
        self._patience_s = timeout_ms / 1000
        self._timeout_ms = timeout_ms
        self._wire = OpenAIProvider(
            model, "local:/v1", timeout_ms=_LONGEST_MS, connections=connections
        )
        self._base_url = ""
        self._server: LocalProcess | None = None

    def get_completion(self, prompt: str, params: Mapping[str, Any]) -> str:
        """The text of one answer to `prompt`. Starts the server, and stops it afterwards. Blocks.

        `params` override the model's parameters. Raises `ModelError` if the request fails, and
        `InvalidInput` if the model cannot be used.
        """
        model = with_parameters(self._model, params)
        once = LocalProvider(model, timeout_ms=self._timeout_ms, connections=1)
        return complete(once, model, prompt)

    async def check(self, *, offline: bool = False, looks: CheckCache | None = None) -> str | None:
        """Check that the weights are present and correct. Sends nothing and returns `None`.

        Raises `InvalidInput` if they are not, or if the extra `local` is not installed.
        """
        require("local", "the provider `local`")
        await asyncio.to_thread(find, self._model.model, self._model.place.folder)
        return None

    async def available_models(self) -> list[str]:
        """The names of the entry's model and of the models with installed weights."""
        there = [name for name, weights in INSTALLABLE.items() if location(weights)]
        return [self._model.model, *there]

    async def open(self) -> None:
        """Start the server unless it runs, and wait until it listens.

        Raises `InvalidInput` if the weights or the extra `local` are missing, or if the server does
        not start.
        """
        if self._server is not None:
            return
        require("local", "the provider `local`")
        weights = await asyncio.to_thread(find, self._model.model, self._model.place.folder)
        self._server = LocalProcess.join(weights, self._model.model)
        self._base_url = await self._server.url() + "/v1"

    def prepare(
        self, messages: Sequence[Turn], response_options: ResponseOptions = DEFAULT_RESPONSE_OPTIONS
    ) -> PreparedRequest:
        """The request for these messages, without tools, which the model's template lacks."""
        return self._wire.prepare(messages, replace(response_options, tools=()))

    async def send(self, request: PreparedRequest, on_text: OnText | None = None) -> Answer:
        """Send the request once, and return the answer in the reply.

        `on_text` receives each piece of a streamed text on arrival. Raises `ModelError` if there is
        no answer, or no progress within the time-out.
        """
        endpoint = request.endpoint.replace("local:/v1", self._base_url, 1)
        return await self._await_with_progress(
            self._wire.send(PreparedRequest(endpoint, request.body), on_text)
        )

    async def close(self) -> None:
        """Release the server, which stops with its last user."""
        await self._wire.close()
        server, self._server = self._server, None
        if server is not None:
            await server.release()

    async def _await_with_progress(self, sending: Coroutine[Any, Any, Answer]) -> Answer:
        """The result of `sending`, a request.

        Raises `ModelError` if the server makes no progress within the time-out.
        """
        began = time.monotonic()
        progress = ServerActivity(self._patience_s, began)
        answer = asyncio.create_task(sending)
        tasks: set[asyncio.Task[Any]] = {answer}
        try:
            while not (await asyncio.wait([answer], timeout=progress.look_every_s))[0]:
                tasks.add(look := asyncio.create_task(self._fetch_state()))
                await asyncio.wait([answer, look], return_when=asyncio.FIRST_COMPLETED)
                if answer.done():
                    break
                if progress.stalled(time.monotonic(), look.result()):
                    message = f"the embedded model made no progress within {self._patience_s:g} s"
                    waited_ms = (time.monotonic() - began) * 1000
                    raise ModelError("timeout", message, "transient", latency_ms=waited_ms)
                tasks.discard(look)
            return answer.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _fetch_state(self) -> bytes | None:
        """The server's state, which changes with every token; `None` if the server does not answer.

        The server answers only between two steps of its work, so the time-out is `_patience_s`.
        """
        within_s = self._patience_s
        try:
            async with open_client(within_s) as client:
                url = f"{self._base_url.removesuffix('/v1')}/slots"
                reply = await fetch(client, "GET", url, limit=_LARGEST_STATE, timeout_s=within_s)
        except UNUSABLE:
            return None
        return reply.body if reply.status == 200 else None
