"""OpenAI's chat completions, which most servers support."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from failproof_es.configuration.schema import Model
from failproof_es.models.http_type import HttpProviderType
from failproof_es.models.provider_type import Capabilities, EntryProblem
from failproof_es.models.request_options import (
    LEAVE_OUT,
    MAX_TOKENS_AS,
    option_problems,
    unknown_options,
)
from failproof_es.models.trust.vendors import OPENAI

if TYPE_CHECKING:
    from failproof_es.models.providers.openai.provider import OpenAIProvider


class OpenAIType(HttpProviderType):
    """The provider type `openai`: models of any OpenAI-compatible server.

    It has no default URL.
    """

    name = "openai"
    vendor = OPENAI
    capabilities = Capabilities(tools=True, schema=True, streaming=True)
    takes = HttpProviderType.takes | {"options"}
    needs = frozenset({"base_url"})

    def problems(self, model: Model) -> Iterable[EntryProblem]:
        """Yield an error for each wrong and unknown option."""
        yield from unknown_options(model, (LEAVE_OUT, MAX_TOKENS_AS))
        yield from option_problems(model)

    def implementation(self) -> type[OpenAIProvider]:
        """The class of the `Provider`, imported here because only it needs the HTTP client."""
        from failproof_es.models.providers.openai.provider import OpenAIProvider

        return OpenAIProvider

    async def fetch_model(self, model: Model) -> bool:
        """Make the server pull the model if it is Ollama, which has this protocol, too.

        Returns whether it is. Raises `InvalidInput` if it fails to pull the model.
        """
        from failproof_es.models.providers.ollama.pull import pull

        return model.base_url is not None and await pull(model.base_url, model.model)


PROVIDER = OpenAIType()
