"""OpenRouter: models of many vendors, by OpenAI's protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from failproof_es.models.http_type import HttpProviderType
from failproof_es.models.provider_type import Capabilities
from failproof_es.models.trust.vendors import OPENROUTER

if TYPE_CHECKING:
    from failproof_es.models.providers.openrouter.provider import OpenRouterProvider


class OpenRouterType(HttpProviderType):
    """The provider type `openrouter`: models of OpenRouter's server, or of another base URL."""

    name = "openrouter"
    vendor = OPENROUTER
    capabilities = Capabilities(tools=True, schema=True, streaming=True)
    default_base_url = "https://openrouter.ai/api/v1"

    def implementation(self) -> type[OpenRouterProvider]:
        """The class of the `Provider`, imported here because only it needs the HTTP client."""
        from failproof_es.models.providers.openrouter.provider import OpenRouterProvider

        return OpenRouterProvider


PROVIDER = OpenRouterType()
