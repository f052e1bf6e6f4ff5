"""OpenAI's Responses API: `/responses`, whole and as events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import orjson

from failproof_es.configuration.schema import Model
from failproof_es.core.case import Turn
from failproof_es.models.http_type import HttpProviderType
from failproof_es.models.provider_type import Capabilities, EntryProblem
from failproof_es.models.request_options import (
    LEAVE_OUT,
    option_problems,
    unknown_options,
)
from failproof_es.models.trust.vendors import OPENAI

if TYPE_CHECKING:
    from failproof_es.models.providers.openai_responses.provider import ResponsesProvider


class ResponsesType(HttpProviderType):
    """The provider type `openai-responses`: models behind OpenAI's Responses API.

    At the vendor's own server, or at a configured base URL.
    """

    name = "openai-responses"
    telemetry_name = "openai"
    vendor = OPENAI
    capabilities = Capabilities(tools=True, schema=True, streaming=True, seed=False)
    takes = HttpProviderType.takes | {"options"}
    default_base_url = "https://api.openai.com/v1"
    reserved = frozenset(
        {
            *("model", "input", "max_output_tokens", "max_tokens", "temperature", "stream", "n"),
            *("background", "conversation", "messages", "previous_response_id", "prompt", "seed"),
        }
    )

    def problems(self, model: Model) -> Iterable[EntryProblem]:
        """Yield an error for each wrong and unknown option."""
        yield from unknown_options(model, (LEAVE_OUT,))
        yield from option_problems(model)

    def implementation(self) -> type[ResponsesProvider]:
        """The class of the `Provider`, imported here because only it needs the HTTP client."""
        from failproof_es.models.providers.openai_responses.provider import ResponsesProvider

        return ResponsesProvider

    def request_is_complete(self, body: bytes, messages: Sequence[Turn]) -> bool:
        """Whether a request's body holds every message in full, in its `input`."""
        try:
            sent = [
                (message.get("role"), message.get("content"))
                for message in orjson.loads(body)["input"]
            ]
        except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError):
            return False
        return sent == [(turn.role, turn.content) for turn in messages]


PROVIDER = ResponsesType()
