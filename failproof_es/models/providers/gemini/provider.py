"""Google's Gemini API over HTTP: builds requests, and reads replies, whole or as events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import orjson

from failproof_es.core.case import Turn
from failproof_es.models.http import HttpProvider, OutgoingRequest
from failproof_es.models.http_reply import (
    AnswerStream,
    HttpReply,
    read_answer,
)
from failproof_es.models.protocol import (
    DEFAULT_RESPONSE_OPTIONS,
    Answer,
    ModelError,
    PreparedRequest,
    ResponseOptions,
)
from failproof_es.models.providers.gemini import ROLES
from failproof_es.models.providers.gemini.reply import (
    StreamedContent,
    answer_of,
    as_google_means,
    bad_key,
)
from failproof_es.web.bounded_json import read_json

_TOP_LEVEL = frozenset(
    {"cachedContent", "labels", "safetySettings", "serviceTier", "store", "toolConfig", "tools"}
)
"""Parameters at the top level of the request; all others go into its `generationConfig`."""


class GeminiProvider(HttpProvider):
    """One model behind `{base_url}/models/NAME`. Sends each request once, as prepared."""

    listing_path = "/models?pageSize=1000"
    assembler = StreamedContent
    recorded_headers = ("server-timing", "x-gemini-service-tier")

    def prepare(
        self, messages: Sequence[Turn], response_options: ResponseOptions = DEFAULT_RESPONSE_OPTIONS
    ) -> PreparedRequest:
        """The request for these messages. Each turn is one part, unaltered."""
        model = self.model
        own = {k: v for k, v in model.parameters.items() if k in _TOP_LEVEL}
        settings = {k: v for k, v in model.parameters.items() if k not in _TOP_LEVEL}
        system = [{"text": turn.content} for turn in messages if turn.role not in ROLES]
        config: dict[str, Any] = {
            "maxOutputTokens": model.max_tokens,
            "temperature": model.temperature,
            **({} if model.seed is None else {"seed": model.seed}),
        }
        if response_options.schema is not None and model.structured_output:
            config["responseMimeType"] = "application/json"
            config["responseJsonSchema"] = response_options.schema
        body: dict[str, Any] = {
            **({"systemInstruction": {"parts": system}} if system else {}),
            "contents": [
                {"role": ROLES[turn.role], "parts": [{"text": turn.content}]}
                for turn in messages
                if turn.role in ROLES
            ],
            "generationConfig": {**config, **settings},
        }
        if response_options.tools:
            stubs = [_tool_stub(name) for name in response_options.tools]
            body["tools"] = [{"functionDeclarations": stubs}]
        return PreparedRequest(
            self.endpoint(), orjson.dumps({**body, **own}), response_options.tools
        )

    def endpoint(self) -> str:
        """The URL of requests, with the model and the method in its path."""
        method = "streamGenerateContent?alt=sse" if self.model.stream else "generateContent"
        return f"{self.base_url}/models/{quote(self.model.model, safe='')}:{method}"

    def sign(self, request: OutgoingRequest, key: str | None) -> Mapping[str, str]:
        """The header with the key; empty without a key."""
        return {} if key is None else {"x-goog-api-key": key}

    @staticmethod
    def read(reply: HttpReply, stream: AnswerStream | None) -> Answer:
        """The answer in a complete reply. Raises `ModelError` if the reply holds none.

        `stream` is the assembler of a streamed reply, fed with the whole body, or `None`.
        """
        try:
            return read_answer(reply, stream, answer_of)
        except ModelError as error:
            raise as_google_means(error) from None

    @staticmethod
    def refuses_key(status: int, body: bytes) -> bool:
        """Whether the reply to the request for the list of models rejects the key.

        The API reports an invalid key with status 400.
        """
        return status in (401, 403) or (status == 400 and bad_key(body))

    @staticmethod
    def model_names(listing: bytes) -> list[str]:
        """The names in the list of models, without `models/`.

        Raises `ValueError` if it has none.
        """
        try:
            names = [str(entry["name"]) for entry in read_json(listing)["models"]]
        except (KeyError, TypeError) as error:
            raise ValueError("this is not a list of models") from error
        return [name.removeprefix("models/") for name in names]

    @staticmethod
    def next_page(listing: bytes) -> Mapping[str, str] | None:
        """The query parameters of the list's next page; `None` after the last page."""
        token = read_json(listing).get("nextPageToken")
        return {"pageToken": str(token)} if token else None


def _tool_stub(name: str) -> dict[str, Any]:
    """The definition of a tool with that name that takes any arguments."""
    schema = {"type": "object", "properties": {}, "additionalProperties": True}
    described = f"The tool {name}."
    return {"name": name, "description": described, "parametersJsonSchema": schema}
