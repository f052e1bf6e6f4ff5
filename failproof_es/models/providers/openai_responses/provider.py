"""OpenAI's Responses API over HTTP: builds requests, and reads replies, whole or as events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
from failproof_es.models.providers.openai_responses.reply import StreamedResponse, answer_of
from failproof_es.models.replies.openai_family import read_unless_withheld
from failproof_es.models.request_options import without_left_out


class ResponsesProvider(HttpProvider):
    """One model behind `{base_url}/responses`. Sends each request once, as prepared."""

    assembler = StreamedResponse
    version_path = "/v1"
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

    @staticmethod
    def read(reply: HttpReply, stream: AnswerStream | None) -> Answer:
        """The answer in a complete reply. Raises `ModelError` if the reply holds none.

        `stream` is the assembler of a streamed reply, fed with the whole body, or `None`.
        """
        return read_unless_withheld(reply, stream, answer_of)


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
