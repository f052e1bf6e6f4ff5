"""OpenAI-compatible chat completions over HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import orjson

from failproof_es.core.case import Turn
from failproof_es.models.http import HttpProvider, OutgoingRequest
from failproof_es.models.http_reply import HttpReply
from failproof_es.models.protocol import (
    DEFAULT_RESPONSE_OPTIONS,
    Answer,
    PreparedRequest,
    ResponseOptions,
)
from failproof_es.models.providers.openai.reply import read_reply, read_streamed
from failproof_es.models.providers.openai.stream import StreamedReply
from failproof_es.models.request_options import max_tokens_name, without_left_out


class OpenAIProvider(HttpProvider):
    """One model behind `{base_url}/chat/completions`. Sends each request once, as prepared."""

    seed_name = "seed"
    """What a request calls its seed."""
    streaming: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {"stream": True, "stream_options": {"include_usage": True}}
    )
    """What asks for a stream, and for its counts of tokens."""
    recorded_headers: tuple[str, ...] = (
        *("openai-model", "openai-organization", "openai-processing-ms", "openai-version"),
    )

    def prepare(
        self, messages: Sequence[Turn], response_options: ResponseOptions = DEFAULT_RESPONSE_OPTIONS
    ) -> PreparedRequest:
        """The exact bytes to be sent."""
        model = self.model
        body: dict[str, Any] = {
            "model": model.model,
            "messages": [{"role": turn.role, "content": turn.content} for turn in messages],
            max_tokens_name(model): model.max_tokens,
            "temperature": model.temperature,
        }
        body = without_left_out(body, model)
        if model.seed is not None:
            body[self.seed_name] = model.seed
        if response_options.tools:
            body["tools"] = [_stub(name) for name in response_options.tools]
        if response_options.schema is not None and model.structured_output:
            body["response_format"] = _held_to(response_options.schema)
        if model.stream:
            body |= self.streaming
        return PreparedRequest(
            self.endpoint(), orjson.dumps({**body, **model.parameters}), response_options.tools
        )

    def endpoint(self) -> str:
        """Where requests go."""
        return f"{self.base_url}/chat/completions"

    def sign(self, request: OutgoingRequest, key: str | None) -> Mapping[str, str]:
        """The key, where there is one."""
        return {} if key is None else {"authorization": f"Bearer {key}"}

    @staticmethod
    def stream_of(headers: Mapping[str, str]) -> StreamedReply | None:
        """A server may answer whole although it was asked to stream, and says so here."""
        content_type = headers.get("content-type", "").lower()
        return StreamedReply() if content_type.startswith("text/event-stream") else None

    @staticmethod
    def read(reply: HttpReply, stream: StreamedReply | None) -> Answer:
        """See `HttpProvider.read`."""
        return read_reply(reply) if stream is None else read_streamed(reply, stream)


def _held_to(schema: dict[str, Any]) -> dict[str, Any]:
    described = {"name": "reply", "strict": True, "schema": schema}
    return {"type": "json_schema", "json_schema": described}


def _stub(name: str) -> dict[str, Any]:
    """A tool of that name that takes whatever arguments the model thinks of."""
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": f"The tool {name}.",
            "parameters": {"type": "object", "properties": {}, "additionalProperties": True},
        },
    }
