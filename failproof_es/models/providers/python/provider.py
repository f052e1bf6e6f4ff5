"""A user's own `ModelClient` class (specification 000 § 3), run off the event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from failproof_es.configuration.schema import Model
from failproof_es.core.case import Turn
from failproof_es.models.catalog.listing import CheckCache
from failproof_es.models.catalog.packages import describe_class, package_of
from failproof_es.models.completion import complete, with_parameters
from failproof_es.models.local_faults import local_trouble
from failproof_es.models.protocol import (
    DEFAULT_RESPONSE_OPTIONS,
    Answer,
    ModelError,
    OnText,
    PreparedRequest,
    ResponseOptions,
    require_short,
)
from failproof_es.models.providers.python.model_client import ModelClient, StreamingClient
from failproof_es.models.user_code.class_type import key_of_class
from failproof_es.models.user_code.finding import find_class
from failproof_es.models.user_code.loading import load_class
from failproof_es.models.user_code.threads import TextPieces, UserCodeError, in_a_thread
from failproof_es.problems import InvalidInput

METHOD = "get_completion"
"""The method that a user's class must have."""


class PythonProvider:
    """Calls `get_completion(prompt, params)` of the named class in a thread, or, for a stream,
    `stream_completion(prompt, params)`.

    A case of one turn is passed unchanged; a conversation as `role: content` paragraphs. A call
    that does not return in time is abandoned: its thread runs on until it returns, and its answer
    is not used.
    """

    def __init__(self, model: Model, *, timeout_ms: int, key: str | None = None) -> None:
        """`key` is passed to the class if the model names no variable for its key."""
        self._model = model
        self._given_key = key
        self._timeout_s = timeout_ms / 1000
        self._client: ModelClient | None = None

    def get_completion(self, prompt: str, params: Mapping[str, Any]) -> str:
        """The text of one answer of the class to `prompt`. Blocks.

        `params` override the model's parameters. Raises `ModelError` if the call fails, and
        `InvalidInput` if the class cannot be used.
        """
        model = with_parameters(self._model, params)
        timeout_ms = round(self._timeout_s * 1000)
        once = PythonProvider(model, timeout_ms=timeout_ms, key=self._given_key)
        once._client = self._construct_client()
        return complete(once, model, prompt)

    async def open(self) -> None:
        """Load and construct the class. Raises `InvalidInput` if that fails."""
        self._construct_client()

    async def close(self) -> None:
        """Do nothing: each call has its own thread."""

    async def available_models(self) -> list[str]:
        """Always empty: there is only the one class."""
        return []

    async def check(self, *, offline: bool = False, looks: CheckCache | None = None) -> str | None:
        """Load and construct the class; `offline`: only find its file, and its key.

        Returns a remark if the class cannot stream as configured, else `None`. Raises
        `InvalidInput` if the class cannot be used or its key is not set.
        """
        if offline:
            key_of_class(self._model, self._given_key)
            find_class(self._model.class_ or "", METHOD, self._model.place.class_folder)
            return None
        if self._model.stream and not isinstance(self._construct_client(), StreamingClient):
            return f"class {self._label} answers whole: it has no `stream_completion`"
        self._construct_client()
        return None

    def prepare(
        self, messages: Sequence[Turn], response_options: ResponseOptions = DEFAULT_RESPONSE_OPTIONS
    ) -> PreparedRequest:
        """The call of the class, as JSON: model, prompt and parameters.

        `response_options` are ignored.
        """
        model = self._model
        params: dict[str, Any] = {
            "max_tokens": model.max_tokens,
            "temperature": model.temperature,
            **({} if model.seed is None else {"seed": model.seed}),
            **model.parameters,
        }
        body: dict[str, Any] = {"model": model.model, "prompt": _prompt(messages), "params": params}
        if model.stream:
            body["stream"] = True
        return PreparedRequest(f"python:{model.class_}", orjson.dumps(body))

    async def send(self, request: PreparedRequest, on_text: OnText | None = None) -> Answer:
        """Call the class once, and return its answer.

        Raises `ModelError`, with the text that was streamed before the error. A class without
        `stream_completion` does not stream, even if the entry has `stream: true`.
        """
        payload = orjson.loads(request.body)
        came = _PartialAnswer(on_text)
        try:
            client = self._construct_client()
            async with asyncio.timeout(self._timeout_s):
                if payload.get("stream") and isinstance(client, StreamingClient):
                    streamed = client.stream_completion
                    await came.pieces.take(streamed, payload["prompt"], payload["params"])
                    text: Any = "".join(came.pieces.text)
                else:
                    get_completion = client.get_completion
                    text = await in_a_thread(get_completion, payload["prompt"], payload["params"])
        except TimeoutError as error:
            late = f"no answer within {self._timeout_s:g} s"
            raise ModelError("timeout", late, "transient", body=came.body()) from error
        except UserCodeError as raised:
            if (trouble := local_trouble(raised.error)) is not None:
                raise trouble from raised.error
            message = f"{type(raised.error).__name__}: {raised.error}"
            if package_of(self._model.class_ or ""):
                message = f"{self._label}: {message}"
            raise ModelError(
                "client_exception", message, "transient", body=came.body()
            ) from raised.error
        except InvalidInput as error:
            raise ModelError("authentication", str(error), "halting") from error
        if not isinstance(text, str):
            raise ModelError(
                "malformed_response", f"get_completion returned {type(text).__name__}", "final"
            )
        body = text.encode("utf-8", "surrogatepass")
        answer = Answer(None, {}, body, _escape_halves(text), came.elapsed_ms())
        return require_short(replace(answer, first_token_ms=came.first_ms))

    @property
    def _label(self) -> str:
        return describe_class(self._model.class_ or "")

    def _construct_client(self) -> ModelClient:
        if self._client is None:
            kind: Callable[[str, str], ModelClient] = load_class(
                self._model.class_ or "", METHOD, self._model.place.class_folder
            )
            key = key_of_class(self._model, self._given_key)
            try:
                self._client = kind(key, self._model.model)
            except Exception as error:
                raise InvalidInput.because(
                    "class-failed",
                    f"class {self._label} cannot be constructed: {type(error).__name__}: {error}",
                    remedy="it is called with (api_key, model_id)",
                ) from None  # its text may hold the key, which is redacted where it is shown
        return self._client


def _prompt(messages: Sequence[Turn]) -> str:
    if len(messages) == 1:
        return messages[0].content
    return "\n\n".join(f"{turn.role}: {turn.content}" for turn in messages)


class _PartialAnswer:
    """The part of an answer that has arrived, and its times."""

    def __init__(self, on_text: OnText | None) -> None:
        self._on_text = on_text
        self._began = time.perf_counter()
        self.first_ms: float | None = None
        self.pieces = TextPieces(self._take_piece)

    def elapsed_ms(self) -> float:
        return (time.perf_counter() - self._began) * 1000

    def body(self) -> bytes | None:
        """The text so far in UTF-8; `None` if empty."""
        return "".join(self.pieces.text).encode("utf-8", "surrogatepass") or None

    def _take_piece(self, piece: str) -> None:
        if piece and self.first_ms is None:
            self.first_ms = self.elapsed_ms()
        if piece and self._on_text is not None:
            self._on_text(_escape_halves(piece))


def _escape_halves(text: str) -> str:
    """Text that JSON can hold: two halves of a character, which may come in two pieces, are joined;
    a lone half becomes its escape. The raw bytes keep it."""
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
