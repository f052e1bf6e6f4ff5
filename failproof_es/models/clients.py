"""The client classes of specification 000 § 3: constructed from a key and a model's name.

Only providers that need no more than a key and a name have one: `azure` needs a URL, `bedrock`
and `vertex` a region or a project, `python` and the vendors' packages a class. Each is a
`ModelClient` that sends requests as a run does, one attempt a call. A program may use them, and a
configuration may name one as the class of a `python` model. A run creates its own adapters from
the configuration (`failproof_es.models.create_provider`); they have `get_completion`, too.
"""

from __future__ import annotations

from typing import Any, ClassVar

from failproof_es.configuration.schema import Model
from failproof_es.models.provider_type import provider_type

TIMEOUT_MS = 120_000


class _Client:
    """A client of the provider named `provider`."""

    provider: ClassVar[str]
    base_url: ClassVar[str | None] = None
    """The default base URL; `None` for the provider's own default."""

    def __init__(
        self,
        api_key: str,
        model_id: str,
        *,
        base_url: str | None = None,
        timeout_ms: int = TIMEOUT_MS,
    ) -> None:
        model = Model(
            provider=self.provider,
            model=model_id,
            base_url=base_url or self.base_url,
            api_key_env=None,
        )
        self._provider = provider_type(self.provider).create(
            model, timeout_ms=timeout_ms, connections=1, key=api_key
        )

    def get_completion(self, prompt: str, params: dict[str, Any]) -> str:
        """The text of the model's response to `prompt`, from one request. Blocks.

        `params` are sent with the request. Raises `ModelError` if the request fails or another
        model answers, and `InvalidInput` if the model cannot be used.
        """
        return self._provider.get_completion(prompt, params)


class OpenAIClient(_Client):
    """A client of OpenAI's chat completions, or of a compatible server at `base_url`."""

    provider = "openai"
    base_url = "https://api.openai.com/v1"


class OpenAIResponsesClient(_Client):
    """A client of OpenAI's Responses API."""

    provider = "openai-responses"


class GeminiClient(_Client):
    """A client of Google's Gemini API."""

    provider = "gemini"


class MistralClient(_Client):
    """A client of Mistral's chat completions."""

    provider = "mistral"


class OpenRouterClient(_Client):
    """A client of OpenRouter."""

    provider = "openrouter"


class OllamaClient(OpenAIClient):
    """A client of an Ollama server, over OpenAI's protocol. The key may be empty."""

    base_url = "http://127.0.0.1:11434/v1"


class AnthropicClient(_Client):
    """A client of Anthropic's Messages API."""

    provider = "anthropic"


class LocalClient(_Client):
    """A client of a model on this machine: `smollm2` or the path of a GGUF file.

    The key is not used. Each call starts the model's server and stops it again.
    """

    provider = "local"
