"""Vertex AI over HTTP: the Gemini API, with a token of Google Cloud."""

from __future__ import annotations

from collections.abc import Mapping

from failproof_es.models.catalog.listing import CheckCache
from failproof_es.models.credentials import CREDENTIALS
from failproof_es.models.http import OutgoingRequest
from failproof_es.models.providers.gemini.provider import GeminiProvider
from failproof_es.models.providers.vertex.token import google_token
from failproof_es.models.tokens import TokenSource, require_token
from failproof_es.problems import InvalidInput
from failproof_es.support.extras import require


class VertexProvider(GeminiProvider):
    """One model of a project and a location. Sends each request once, as prepared."""

    def sign(self, request: OutgoingRequest, key: str | None) -> Mapping[str, str]:
        """The header with the token; empty without a token."""
        return {} if key is None else {"authorization": f"Bearer {key}"}

    def token_source(self) -> TokenSource | None:
        """Tokens of `google-auth` if the entry has `credentials: google`; else `None`."""
        if CREDENTIALS not in self.model.options:
            return None
        return TokenSource("a token of google-auth", google_token)

    async def check(self, *, offline: bool = False, looks: CheckCache | None = None) -> str | None:
        """Check the token only: a token that may only call models gets no list of them.

        Returns `None`. `offline`: fetches no token. Raises `InvalidInput` if there is no token.
        """
        self.require_settings()
        if self.tokens is not None:
            require("google", "the option `credentials` of the provider `vertex`")
            if not offline:
                await require_token(self.tokens)
        return None

    async def available_models(self) -> list[str]:
        """Always empty: a token that may only call models gets no list of them."""
        return []

    async def list_models(self) -> list[str]:
        """Always raises `InvalidInput`: a token that may only call models gets no list of them."""
        raise InvalidInput.because(
            "no-model-list",
            "Vertex AI lists no models to a token that may only ask them",
            remedy="`--provider gemini` lists those of the Gemini API, which have the same names",
        )
