"""Amazon Bedrock's Converse API over HTTP: builds and signs requests, and reads replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import orjson

from failproof_es.core.case import Turn
from failproof_es.models.catalog.listing import CheckCache
from failproof_es.models.http import HttpProvider, OutgoingRequest
from failproof_es.models.http_reply import AnswerStream, HttpReply
from failproof_es.models.protocol import (
    DEFAULT_RESPONSE_OPTIONS,
    Answer,
    ModelError,
    PreparedRequest,
    ResponseOptions,
)
from failproof_es.models.providers.bedrock import ACCESS_KEY, REGION, SESSION_TOKEN, require_signer
from failproof_es.models.providers.bedrock.reply import (
    StreamedConversation,
    answer_of,
    as_aws_means,
)
from failproof_es.models.replies.content_types import FRAMES
from failproof_es.models.replies.openai_family import read_unless_withheld
from failproof_es.models.request_options import without_left_out
from failproof_es.web.bounded_json import read_json

_TOP_LEVEL = frozenset(
    {
        *("additionalModelRequestFields", "additionalModelResponseFieldPaths", "guardrailConfig"),
        *("outputConfig", "performanceConfig", "projectIdentifier", "promptVariables"),
        *("requestMetadata", "serviceTier"),
    }
)
"""Parameters at the top level of the request; all others go into its `inferenceConfig`."""


class BedrockProvider(HttpProvider):
    """One model behind `{base_url}/model/NAME/converse`. Sends each request once, as prepared."""

    assembler = StreamedConversation
    streamed_as = FRAMES
    recorded_headers = ("x-amzn-requestid", "x-amzn-errortype", "x-amzn-bedrock-")

    def prepare(
        self, messages: Sequence[Turn], response_options: ResponseOptions = DEFAULT_RESPONSE_OPTIONS
    ) -> PreparedRequest:
        """The request for these messages. Each turn is one block of text, unaltered."""
        model = self.model
        own = {k: v for k, v in model.parameters.items() if k in _TOP_LEVEL}
        settings = {k: v for k, v in model.parameters.items() if k not in _TOP_LEVEL}
        system = [{"text": turn.content} for turn in messages if turn.role == "system"]
        limits = without_left_out(
            {"maxTokens": model.max_tokens, "temperature": model.temperature}, model
        )
        body: dict[str, Any] = {
            **({"system": system} if system else {}),
            "messages": [
                {"role": turn.role, "content": [{"text": turn.content}]}
                for turn in messages
                if turn.role != "system"
            ],
            "inferenceConfig": {**limits, **settings},
        }
        if response_options.tools:
            body["toolConfig"] = {"tools": [_tool_stub(name) for name in response_options.tools]}
        method = "converse-stream" if model.stream else "converse"
        quoted_name = quote(model.model, safe=":")  # the transport does not escape a colon
        where = f"{self.base_url}/model/{quoted_name}/{method}"
        return PreparedRequest(where, orjson.dumps({**body, **own}), response_options.tools)

    def sign(self, request: OutgoingRequest, key: str | None) -> Mapping[str, str]:
        """The key as a bearer token; with `access_key_env` a signature (Signature Version 4).

        Raises `InvalidInput` if the extra `aws`, which signs, or a variable of the options is
        missing.
        """
        access_key = self.model.options.get(ACCESS_KEY)
        if access_key is None:
            return {} if key is None else {"authorization": f"Bearer {key}"}
        require_signer()
        from failproof_es.models.providers.bedrock.signing import signed

        session = self.model.options.get(SESSION_TOKEN)
        return signed(
            request,
            region=str(self.model.options[REGION]),
            access_key=self._secret(ACCESS_KEY),
            secret_key=key or "",
            session_token=None if session is None else self._secret(SESSION_TOKEN),
        )

    async def check(self, *, offline: bool = False, looks: CheckCache | None = None) -> str | None:
        """Check that the keys are set. Sends nothing: not every key may read the list of models.

        Returns `None`. Raises `InvalidInput` if a key or the extra `aws` is missing.
        """
        self.require_settings()
        for name in (ACCESS_KEY, SESSION_TOKEN):
            if name in self.model.options:
                require_signer()
                self._secret(name)
        return None

    async def available_models(self) -> list[str]:
        """Always empty: the server's list lacks inference profiles."""
        return []

    def listing(self) -> str:
        """The URL of the region's models, which is on another host than the models themselves."""
        return f"{self.base_url.replace('//bedrock-runtime', '//bedrock', 1)}/foundation-models"

    @staticmethod
    def model_names(listing: bytes) -> list[str]:
        """The names in the server's list of models. Raises `ValueError` if it has none."""
        try:
            return [str(entry["modelId"]) for entry in read_json(listing)["modelSummaries"]]
        except (KeyError, TypeError) as error:
            raise ValueError("this is not a list of models") from error

    @staticmethod
    def read(reply: HttpReply, stream: AnswerStream | None) -> Answer:
        """The answer in a complete reply. Raises `ModelError` if the reply holds none.

        `stream` is the assembler of a streamed reply, fed with the whole body, or `None`.
        """
        try:
            return read_unless_withheld(reply, stream, answer_of)
        except ModelError as error:
            raise as_aws_means(error) from None

    def _secret(self, option: str) -> str:
        return self._read_variable(str(self.model.options[option]), f"what `{option}` is for")


def _tool_stub(name: str) -> dict[str, Any]:
    """The definition of a tool with that name that takes any arguments."""
    schema = {"type": "object", "properties": {}, "additionalProperties": True}
    described = f"The tool {name}."
    return {"toolSpec": {"name": name, "description": described, "inputSchema": {"json": schema}}}
