"""The adapters as specification 000 § 3 constructs them: from a key and a model's name.

Each is a `ModelClient` that asks as a run does, one attempt a call. A program may use them, and
a configuration may name one as the class of a `python` model. A run's own adapters are made by
`failproof_es.models.create_provider`, from the configuration, and have `get_completion`, too.
"""

from __future__ import annotations

from typing import Any

from failproof_es.configuration.schema import Model
from failproof_es.models.anthropic import BASE_URL, AnthropicProvider
from failproof_es.models.local import LocalProvider
from failproof_es.models.openai import OpenAIProvider

TIMEOUT_MS = 120_000


class OpenAIClient:
    """A model behind OpenAI's chat completions, or a server that speaks them."""

    base_url = "https://api.openai.com/v1"

    def __init__(
        self,
        api_key: str,
        model_id: str,
        *,
        base_url: str | None = None,
        timeout_ms: int = TIMEOUT_MS,
    ) -> None:
        model = Model(provider="openai", model=model_id, api_key_env=None)
        self._provider = OpenAIProvider(
            model, base_url or self.base_url, timeout_ms=timeout_ms, connections=1, key=api_key
        )

    def get_completion(self, prompt: str, params: dict[str, Any]) -> str:
        """The model's response. Raises an exception if the call fails."""
        return self._provider.get_completion(prompt, params)


class OllamaClient(OpenAIClient):
    """A model of an Ollama server, which speaks OpenAI's protocol; it needs no key."""

    base_url = "http://127.0.0.1:11434/v1"


class AnthropicClient:
    """A model behind Anthropic's Messages API."""

    def __init__(
        self,
        api_key: str,
        model_id: str,
        *,
        base_url: str = BASE_URL,
        timeout_ms: int = TIMEOUT_MS,
    ) -> None:
        model = Model(provider="anthropic", model=model_id, api_key_env=None)
        self._provider = AnthropicProvider(
            model, base_url, timeout_ms=timeout_ms, connections=1, key=api_key
        )

    def get_completion(self, prompt: str, params: dict[str, Any]) -> str:
        """The model's response. Raises an exception if the call fails."""
        return self._provider.get_completion(prompt, params)


class LocalClient:
    """A model on this machine: `smollm2` or the path of a GGUF file. It takes no key.

    Each call starts the model's server and stops it again.
    """

    def __init__(self, api_key: str, model_id: str, *, timeout_ms: int = TIMEOUT_MS) -> None:
        model = Model(provider="local", model=model_id)
        self._provider = LocalProvider(model, timeout_ms=timeout_ms, connections=1)

    def get_completion(self, prompt: str, params: dict[str, Any]) -> str:
        """The model's response. Raises an exception if the call fails."""
        return self._provider.get_completion(prompt, params)
