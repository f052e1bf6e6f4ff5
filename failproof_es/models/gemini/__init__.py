"""Google's Gemini API: `generateContent`, and `streamGenerateContent` as events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import orjson

from failproof_es.configuration.schema import Model
from failproof_es.core.case import Turn
from failproof_es.models.http_type import HttpProviderType
from failproof_es.models.provider_type import Capabilities, EntryProblem

if TYPE_CHECKING:
    from failproof_es.models.gemini.provider import GeminiProvider

_HOST = "generativelanguage.googleapis.com"
ROLES = {"user": "user", "assistant": "model"}
"""Who speaks, in the API's words. System turns stand in a place of their own."""


class GeminiType(HttpProviderType):
    """The vendor's own server, unless a base URL says otherwise."""

    name = "gemini"
    capabilities = Capabilities(tools=True, schema=True, streaming=True)
    default_base_url: str | None = f"https://{_HOST}/v1beta"
    reserved = frozenset(
        {
            *("model", "contents", "systemInstruction", "system_instruction", "generationConfig"),
            *("generation_config", "maxOutputTokens", "max_output_tokens", "max_tokens"),
            *("temperature", "seed", "candidateCount", "candidate_count", "messages", "stream"),
        }
    )

    def default_key_variable(self, base_url: str | None) -> str | None:
        """GEMINI_API_KEY at the vendor's own URL, and at no other."""
        try:
            parts = urlsplit(base_url or self.default_base_url or "")
        except ValueError:  # no URL: the rules say so
            return None
        return "GEMINI_API_KEY" if (parts.scheme, parts.hostname) == ("https", _HOST) else None

    def problems(self, model: Model) -> Iterable[EntryProblem]:
        """A name as the list of models writes it; answers name the model without that."""
        if "/" in model.model:
            said = "holds a slash: provider `gemini` puts `models/` before it"
            yield EntryProblem("model", said, f"write {model.model.rpartition('/')[2]}")

    def implementation(self) -> type[GeminiProvider]:
        """See `HttpProviderType`."""
        from failproof_es.models.gemini.provider import GeminiProvider

        return GeminiProvider

    def request_is_complete(self, body: bytes, messages: Sequence[Turn]) -> bool:
        """See `ProviderType`. Each turn is one part; system turns stand in a place of their own."""
        try:
            document = orjson.loads(body)
            sent = [(each["role"], _texts(each)) for each in document["contents"]]
            system = (
                _texts(document["systemInstruction"]) if "systemInstruction" in document else []
            )
        except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError):
            return False
        others = [(ROLES[turn.role], [turn.content]) for turn in messages if turn.role in ROLES]
        given = [turn.content for turn in messages if turn.role not in ROLES]
        return sent == others and system == given


def _texts(content: dict[str, list[dict[str, str]]]) -> list[str]:
    return [part["text"] for part in content["parts"]]


PROVIDER = GeminiType()
