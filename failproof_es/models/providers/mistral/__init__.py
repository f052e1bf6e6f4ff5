"""Mistral's chat completions: OpenAI's protocol, with names of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from failproof_es.configuration.providers import RESERVED
from failproof_es.configuration.schema import Model
from failproof_es.models.http_type import HttpProviderType
from failproof_es.models.provider_type import Capabilities, EntryProblem
from failproof_es.models.trust.vendors import MISTRAL

if TYPE_CHECKING:
    from failproof_es.models.providers.mistral.provider import MistralProvider


class MistralType(HttpProviderType):
    """The provider type `mistral`: models of Mistral's server, or of another base URL."""

    name = "mistral"
    telemetry_name = "mistral_ai"
    vendor = MISTRAL
    capabilities = Capabilities(tools=True, schema=True, streaming=True)
    default_base_url = "https://api.mistral.ai/v1"
    reserved = RESERVED | {"random_seed"}

    def problems(self, model: Model) -> Iterable[EntryProblem]:
        """Yield an error if the temperature is above the API's limit of 1.5."""
        if model.temperature > 1.5:
            yield EntryProblem(
                "out-of-range", "temperature", "may be at most 1.5 for provider `mistral`"
            )

    def implementation(self) -> type[MistralProvider]:
        """The class of the `Provider`, imported here because only it needs the HTTP client."""
        from failproof_es.models.providers.mistral.provider import MistralProvider

        return MistralProvider


PROVIDER = MistralType()
