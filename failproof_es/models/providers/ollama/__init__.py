"""Ollama's own API: `/api/chat`, with its options, schemas, tools and streams."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from failproof_es.configuration.schema import Model
from failproof_es.models.http_type import HttpProviderType
from failproof_es.models.provider_type import Capabilities, EntryProblem
from failproof_es.models.trust.vendors import OLLAMA

if TYPE_CHECKING:
    from failproof_es.models.providers.ollama.provider import OllamaProvider


class OllamaType(HttpProviderType):
    """The provider type `ollama`: models of the Ollama server here, or of another base URL."""

    name = "ollama"
    vendor = OLLAMA
    capabilities = Capabilities(tools=True, schema=True, streaming=True)
    default_base_url = "http://127.0.0.1:11434"
    reserved = frozenset(
        {
            *("model", "messages", "stream", "tools", "format", "options"),
            *("temperature", "seed", "num_predict", "max_tokens"),
        }
    )

    def problems(self, model: Model) -> Iterable[EntryProblem]:
        """Yield an error for a base URL that ends in `/v1` or `/api`.

        `/v1` is the OpenAI-compatible API.
        """
        path = (model.base_url or "").rstrip("/").rpartition("/")[2]
        if path in ("v1", "api"):
            message = f"ends in /{path}: provider `ollama` puts its own paths after it"
            remedy = f"leave out /{path}"
            if path == "v1":
                remedy += ", or name provider `openai`, whose paths these are"
            yield EntryProblem("invalid-url", "base_url", message, remedy)

    def implementation(self) -> type[OllamaProvider]:
        """The class of the `Provider`, imported here because only it needs the HTTP client."""
        from failproof_es.models.providers.ollama.provider import OllamaProvider

        return OllamaProvider

    async def fetch_model(self, model: Model) -> bool:
        """Make the server pull the model; returns whether the server is Ollama.

        Raises `InvalidInput` if the server fails to pull it.
        """
        from failproof_es.models.providers.ollama.pull import pull

        return await pull(self.base_url(model) or "", model.model)


PROVIDER = OllamaType()
