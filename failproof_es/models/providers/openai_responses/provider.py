"""OpenAI's Responses API over HTTP: builds requests, and reads replies, whole or as events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import orjson

from failproof_es.core.case import Turn
from failproof_es.models.http import HttpProvider, OutgoingRequest
from failproof_es.models.http_reply import HttpReply, InvalidReply, read_document
from failproof_es.models.protocol import (
    DEFAULT_RESPONSE_OPTIONS,
    Answer,
    PreparedRequest,
    ResponseOptions,
)
from failproof_es.models.providers.openai_responses.reply import StreamedResponse, answer_of
from failproof_es.models.replies.half_characters import join_all_halves
from failproof_es.models.replies.openai_family import withheld
from failproof_es.models.request_options import without_left_out


class ResponsesProvider(HttpProvider):
    """One model behind `{base_url}/responses`. Sends each request once, as prepared."""

    recorded_headers = (
        *("openai-model", "openai-organization", "openai-processing-ms", "openai-version"),
        "openai-project",
    )

    def prepare(
        self, messages: Sequence[Turn], response_options: ResponseOptions = DEFAULT_RESPONSE_OPTIONS
    ) -> PreparedRequest:
        """The request for these messages. Its `store` is false unless a parameter sets it."""
        model = self.model
        body: dict[str, Any] = {
            "model": model.model,
            "input": [{"role": turn.role, "content": turn.content} for turn in messages],
            "max_output_tokens": model.max_tokens,
            "temperature": model.temperature,
            "store": False,
        }
        body = without_left_out(body, model)
        if response_options.tools:
            body["tools"] = [_tool_stub(name) for name in response_options.tools]
        if model.stream:
            body["stream"] = True
        body |= model.parameters
        if response_options.schema is not None and model.structured_output:
            text_options = body.get("text")
            held = _schema_format(response_options.schema)
            body["text"] = {
                "format": held,
                **(text_options if isinstance(text_options, dict) else {}),
            }
        where = f"{self.base_url}/responses"
        return PreparedRequest(where, orjson.dumps(body), response_options.tools)

    def sign(self, request: OutgoingRequest, key: str | None) -> Mapping[str, str]:
        """The header with the key; empty without a key."""
        return {} if key is None else {"authorization": f"Bearer {key}"}

    @staticmethod
    def stream_of(headers: Mapping[str, str]) -> StreamedResponse | None:
        """The assembler if the content type is server-sent events; else `None`.

        A server need not stream when a request asks it to.
        """
        content_type = headers.get("content-type", "").lower()
        return StreamedResponse() if content_type.startswith("text/event-stream") else None

    @staticmethod
    def read(reply: HttpReply, stream: StreamedResponse | None) -> Answer:
        """The answer in a complete reply. Raises `ModelError` if the reply holds none.

        `stream` is the assembler of a streamed reply, fed with the whole body, or `None`.
        """
        if (blocked := withheld(reply)) is not None:
            return blocked
        if stream is None:
            return read_document(reply, partial(answer_of, reply))
        try:
            return answer_of(reply, join_all_halves(stream.document()))
        except InvalidReply as flaw:
            raise reply.error(flaw) from None


def _schema_format(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "json_schema", "name": "reply", "strict": True, "schema": schema}


def _tool_stub(name: str) -> dict[str, Any]:
    """The definition of a tool with that name that takes any arguments."""
    return {
        "type": "function",
        "name": name,
        "description": f"The tool {name}.",
        "parameters": {"type": "object", "properties": {}, "additionalProperties": True},
        "strict": False,
    }
