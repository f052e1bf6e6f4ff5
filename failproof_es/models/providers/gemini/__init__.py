"""Google's Gemini API: `generateContent`, and `streamGenerateContent` as events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import orjson

from failproof_es.configuration.schema import Model
from failproof_es.core.case import Turn
from failproof_es.models.http_type import HttpProviderType
from failproof_es.models.provider_type import Capabilities, EntryProblem
from failproof_es.models.trust.vendors import GEMINI

if TYPE_CHECKING:
    from failproof_es.models.providers.gemini.provider import GeminiProvider

ROLES = {"user": "user", "assistant": "model"}
"""The API's role names. System turns go into `systemInstruction` instead."""


class GeminiType(HttpProviderType):
    """The provider type `gemini`: models of the Gemini API's server, or of another base URL."""

    name = "gemini"
    telemetry_name = "gcp.gemini"
    vendor = GEMINI
    capabilities = Capabilities(tools=True, schema=True, streaming=True)
    default_base_url: str | None = "https://generativelanguage.googleapis.com/v1beta"
    reserved = frozenset(
        {
            *("model", "contents", "systemInstruction", "system_instruction", "generationConfig"),
            *("generation_config", "maxOutputTokens", "max_output_tokens", "max_tokens"),
            *("temperature", "seed", "candidateCount", "candidate_count", "messages", "stream"),
        }
    )

    def problems(self, model: Model) -> Iterable[EntryProblem]:
        """Yield an error for a model name with a slash.

        The API's list has the prefix `models/`, which answers omit.
        """
        if "/" in model.model:
            message = "holds a slash: provider `gemini` puts `models/` before it"
            yield EntryProblem(
                "invalid-value", "model", message, f"write {model.model.rpartition('/')[2]}"
            )

    def implementation(self) -> type[GeminiProvider]:
        """The class of the `Provider`, imported here because only it needs the HTTP client."""
        from failproof_es.models.providers.gemini.provider import GeminiProvider

        return GeminiProvider

    def request_is_complete(self, body: bytes, messages: Sequence[Turn]) -> bool:
        """Whether a request's body holds every message in full.

        Each turn is one part; system turns are the `systemInstruction`.
        """
        try:
            document = orjson.loads(body)
            sent = [(content["role"], _texts(content)) for content in document["contents"]]
            system = (
                _texts(document["systemInstruction"]) if "systemInstruction" in document else []
            )
        except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError):
            return False
        conversation = [
            (ROLES[turn.role], [turn.content]) for turn in messages if turn.role in ROLES
        ]
        instructions = [turn.content for turn in messages if turn.role not in ROLES]
        return sent == conversation and system == instructions


def _texts(content: dict[str, list[dict[str, str]]]) -> list[str]:
    return [part["text"] for part in content["parts"]]


PROVIDER = GeminiType()
