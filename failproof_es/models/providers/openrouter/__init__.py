"""OpenRouter: models of many vendors, by OpenAI's protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from failproof_es.models.http_type import HttpProviderType
from failproof_es.models.provider_type import Capabilities
from failproof_es.models.trust.vendors import OPENROUTER

if TYPE_CHECKING:
    from failproof_es.models.providers.openrouter.provider import OpenRouterProvider


class OpenRouterType(HttpProviderType):
    """Models of the vendor's own server, or of a configured base URL."""

    name = "openrouter"
    vendor = OPENROUTER
    capabilities = Capabilities(tools=True, schema=True, streaming=True)
    default_base_url = "https://openrouter.ai/api/v1"

    def implementation(self) -> type[OpenRouterProvider]:
        """See `HttpProviderType`."""
        from failproof_es.models.providers.openrouter.provider import OpenRouterProvider

        return OpenRouterProvider


PROVIDER = OpenRouterType()
