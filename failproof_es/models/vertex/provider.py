"""Vertex AI over HTTP: the Gemini API, with a token of Google Cloud."""

from __future__ import annotations

from collections.abc import Mapping

from failproof_es.models.catalog.listing import CheckCache
from failproof_es.models.gemini.provider import GeminiProvider
from failproof_es.models.http import OutgoingRequest


class VertexProvider(GeminiProvider):
    """One model of a project and a location. Sends each request once, as prepared."""

    def sign(self, request: OutgoingRequest, key: str | None) -> Mapping[str, str]:
        """The token, where there is one."""
        return {} if key is None else {"authorization": f"Bearer {key}"}

    async def check(self, *, offline: bool = False, looks: CheckCache | None = None) -> str | None:
        """Whether the token is there. The server lists no models to who may only ask them."""
        self.require_settings()
        return None

    async def available_models(self) -> list[str]:
        """See `Provider.available_models`. It lists none."""
        return []
