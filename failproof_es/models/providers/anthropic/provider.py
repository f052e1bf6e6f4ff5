"""Anthropic's Messages API over HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from failproof_es.core.case import Turn
from failproof_es.models.http import HttpProvider, OutgoingRequest
from failproof_es.models.http_reply import AnswerStream, HttpReply
from failproof_es.models.protocol import (
    DEFAULT_RESPONSE_OPTIONS,
    Answer,
    PreparedRequest,
    ResponseOptions,
)
from failproof_es.models.providers.anthropic import BETWEEN_SYSTEM_TURNS
from failproof_es.models.providers.anthropic.reply import answer_of
from failproof_es.models.providers.anthropic.stream import StreamedMessage
from failproof_es.models.replies.openai_family import read_unless_withheld
from failproof_es.models.request_options import without_left_out
from failproof_es.web.bounded_json import read_json

_API_VERSION = "2023-06-01"


class AnthropicProvider(HttpProvider):
    """One model behind `{base_url}/messages`. Sends each request once, as prepared."""

    assembler = StreamedMessage
    version_path = "/v1"
    listing_path = "/models?limit=1000"
    recorded_headers = (
        *("anthropic-fast-", "anthropic-organization-id", "anthropic-priority-"),
        "anthropic-workspace-id",
    )

    def prepare(
        self, messages: Sequence[Turn], response_options: ResponseOptions = DEFAULT_RESPONSE_OPTIONS
    ) -> PreparedRequest:
        """The request for these messages. System turns go into the body's `system`, unaltered."""
        model = self.model
        system = [turn.content for turn in messages if turn.role == "system"]
        body: dict[str, Any] = {
            "model": model.model,
            "max_tokens": model.max_tokens,
            **without_left_out({"temperature": model.temperature}, model),
            **({"system": BETWEEN_SYSTEM_TURNS.join(system)} if system else {}),
            "messages": [
                {"role": turn.role, "content": turn.content}
                for turn in messages
                if turn.role != "system"
            ],
        }
        if response_options.tools:
            body["tools"] = [_tool_stub(name) for name in response_options.tools]
        if model.stream:
            body["stream"] = True
        return PreparedRequest(
            f"{self.base_url}/messages",
            orjson.dumps({**body, **model.parameters}),
            response_options.tools,
        )

    def sign(self, request: OutgoingRequest, key: str | None) -> Mapping[str, str]:
        """The headers with the version of the API and the key."""
        version = {"anthropic-version": _API_VERSION}
        return version if key is None else {**version, "x-api-key": key}

    async def available_models(self) -> list[str]:
        """Always empty: the server's list lacks the aliases of models."""
        return []

    @staticmethod
    def next_page(listing: bytes) -> Mapping[str, str] | None:
        """The query parameters of the list's next page; `None` after the last page.

        Raises `ValueError` if the list goes on and does not say where.
        """
        page = read_json(listing)
        if not page.get("has_more"):
            return None
        if not page.get("last_id"):
            raise ValueError("the list goes on, and names no last model")
        return {"after_id": str(page["last_id"])}

    @staticmethod
    def read(reply: HttpReply, stream: AnswerStream | None) -> Answer:
        """The answer in a complete reply. Raises `ModelError` if the reply holds none.

        `stream` is the assembler of a streamed reply, fed with the whole body, or `None`.
        """
        return read_unless_withheld(reply, stream, answer_of)


def _tool_stub(name: str) -> dict[str, Any]:
    """The definition of a tool with that name that takes any arguments."""
    schema = {"type": "object", "properties": {}, "additionalProperties": True}
    return {"name": name, "description": f"The tool {name}.", "input_schema": schema}
