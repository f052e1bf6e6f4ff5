"""Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import orjson

from failproof_es.configuration.schema import Model
from failproof_es.core.case import Turn
from failproof_es.models.http_type import HttpProviderType
from failproof_es.models.provider_type import Capabilities, EntryProblem
from failproof_es.models.request_options import LEAVE_OUT, option_problems, unknown_options
from failproof_es.models.trust.vendors import ANTHROPIC

if TYPE_CHECKING:
    from failproof_es.models.providers.anthropic.provider import AnthropicProvider

BETWEEN_SYSTEM_TURNS = "\n\n"
"""Joins the system turns in the API's single text `system`."""


class AnthropicType(HttpProviderType):
    """The provider type `anthropic`: models of Anthropic's server, or of another base URL."""

    name = "anthropic"
    vendor = ANTHROPIC
    capabilities = Capabilities(tools=True, schema=False, streaming=True, seed=False)
    takes = HttpProviderType.takes | {"options"}
    needs = frozenset({"api_key_env"})
    default_base_url = "https://api.anthropic.com/v1"

    def default_key_variable(self, base_url: str | None) -> str | None:
        """`ANTHROPIC_API_KEY`, for any URL: compatible servers take that key or their own."""
        return ANTHROPIC.variable

    def problems(self, model: Model) -> Iterable[EntryProblem]:
        """Yield the errors in the options, and one for a temperature above the API's limit of 1."""
        yield from unknown_options(model, (LEAVE_OUT,))
        yield from option_problems(model)
        if model.temperature > 1:
            message = "may be at most 1 for provider `anthropic`"
            yield EntryProblem("out-of-range", "temperature", message)

    def implementation(self) -> type[AnthropicProvider]:
        """The class of the `Provider`, imported here because only it needs the HTTP client."""
        from failproof_es.models.providers.anthropic.provider import AnthropicProvider

        return AnthropicProvider

    def request_is_complete(self, body: bytes, messages: Sequence[Turn]) -> bool:
        """Whether a request's body holds every message in full; system turns are in `system`."""
        try:
            document = orjson.loads(body)
            sent = [
                (message.get("role"), message.get("content")) for message in document["messages"]
            ]
        except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError):
            return False
        system = [turn.content for turn in messages if turn.role == "system"]
        conversation = [(turn.role, turn.content) for turn in messages if turn.role != "system"]
        whole = BETWEEN_SYSTEM_TURNS.join(system) if system else None
        return sent == conversation and document.get("system") == whole


PROVIDER = AnthropicType()
