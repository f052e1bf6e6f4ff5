"""OpenAI-compatible chat completions over HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import orjson

from failproof_es.core.case import Turn
from failproof_es.models.http import HttpProvider
from failproof_es.models.http_reply import AnswerStream, HttpReply
from failproof_es.models.protocol import (
    DEFAULT_RESPONSE_OPTIONS,
    Answer,
    PreparedRequest,
    ResponseOptions,
)
from failproof_es.models.providers.openai.reply import answer_of
from failproof_es.models.providers.openai.stream import StreamedReply
from failproof_es.models.replies.openai_family import read_unless_withheld
from failproof_es.models.request_options import max_tokens_name, without_left_out


class OpenAIProvider(HttpProvider):
    """One model behind `{base_url}/chat/completions`. Sends each request once, as prepared."""

    version_path: str | None = "/v1"
    seed_name = "seed"
    """The name of the seed in requests."""
    streaming: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {"stream": True, "stream_options": {"include_usage": True}}
    )
    """The fields of a request for a stream with token counts."""
    assembler = StreamedReply
    recorded_headers: tuple[str, ...] = (
        *("openai-model", "openai-organization", "openai-processing-ms", "openai-version"),
    )

    def prepare(
        self, messages: Sequence[Turn], response_options: ResponseOptions = DEFAULT_RESPONSE_OPTIONS
    ) -> PreparedRequest:
        """The request for these messages, with the exact bytes to be sent."""
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
            body["tools"] = [_tool_stub(name) for name in response_options.tools]
        if response_options.schema is not None and model.structured_output:
            body["response_format"] = _schema_format(response_options.schema)
        if model.stream:
            body |= self.streaming
        return PreparedRequest(
            self.endpoint(), orjson.dumps({**body, **model.parameters}), response_options.tools
        )

    def endpoint(self) -> str:
        """The URL of requests."""
        return f"{self.base_url}/chat/completions"

    @staticmethod
    def read(reply: HttpReply, stream: AnswerStream | None) -> Answer:
        """The answer in a complete reply. Raises `ModelError` if the reply holds none.

        `stream` is the assembler of a streamed reply, fed with the whole body, or `None`.
        """
        return read_unless_withheld(reply, stream, answer_of)


def _schema_format(schema: dict[str, Any]) -> dict[str, Any]:
    described = {"name": "reply", "strict": True, "schema": schema}
    return {"type": "json_schema", "json_schema": described}


def _tool_stub(name: str) -> dict[str, Any]:
    """The definition of a tool with that name that takes any arguments."""
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": f"The tool {name}.",
            "parameters": {"type": "object", "properties": {}, "additionalProperties": True},
        },
    }
