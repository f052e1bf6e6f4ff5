"""Azure OpenAI over HTTP: OpenAI's protocol at the URL of a deployment."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from failproof_es.models.credentials import CREDENTIALS
from failproof_es.models.http import OutgoingRequest
from failproof_es.models.providers.azure import API_VERSION, DEPLOYMENT, LATEST
from failproof_es.models.providers.azure.token import EntraToken
from failproof_es.models.providers.openai.provider import OpenAIProvider
from failproof_es.models.tokens import TokenSource


class AzureProvider(OpenAIProvider):
    """One deployment of a resource. The entry's `model` is its model, which each answer names."""

    listing_path = "/openai/models"
    version_path = None
    recorded_headers = (
        *OpenAIProvider.recorded_headers,
        *("apim-request-id", "azureml-model-session", "x-ms-", "x-accel-buffering"),
    )

    def endpoint(self) -> str:
        """The URL of requests, with the deployment in its path and the version of the API."""
        deployment = quote(self.model.options.get(DEPLOYMENT, self.model.model), safe="")
        path = f"/openai/deployments/{deployment}/chat/completions"
        return f"{self.base_url}{path}?{self.query()}"

    def query(self) -> str:
        """The query string of every URL, with the version of the API."""
        return f"api-version={self.model.options.get(API_VERSION, LATEST)}"

    def listing(self) -> str:
        """The URL of the list of models, with the version of the API."""
        return f"{super().listing()}?{self.query()}"

    def remark(self, listing: bytes) -> str | None:
        """Always `None`: the server lists the region's models, not the deployments."""
        return None

    def token_source(self) -> TokenSource | None:
        """Tokens of `azure-identity` if the entry has `credentials: entra`; else `None`."""
        if CREDENTIALS not in self.model.options:
            return None
        return TokenSource("a token of azure-identity", EntraToken())

    def sign(self, request: OutgoingRequest, key: str | None) -> Mapping[str, str]:
        """The header with the key or the token; empty if there is neither."""
        if key is None:
            return {}
        return {"api-key": key} if self.tokens is None else {"authorization": f"Bearer {key}"}
