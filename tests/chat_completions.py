"""The providers that speak OpenAI's chat completions, from the registry."""

from __future__ import annotations

from failproof_es.configuration.providers import PROVIDERS
from failproof_es.models.http_type import HttpProviderType
from failproof_es.models.provider_type import provider_type
from failproof_es.models.providers.openai.provider import OpenAIProvider

CHAT_COMPLETIONS = tuple(
    name
    for name in PROVIDERS.names()
    if isinstance(kind := provider_type(name), HttpProviderType)
    and issubclass(kind.implementation(), OpenAIProvider)
)
