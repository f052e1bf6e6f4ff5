"""Azure OpenAI: OpenAI's chat completions of a deployment, with a version of the API in the URL."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from failproof_es.configuration.schema import Model
from failproof_es.models.credentials import CREDENTIALS, credential_problems
from failproof_es.models.http_type import HttpProviderType
from failproof_es.models.provider_type import Capabilities, EntryProblem
from failproof_es.models.request_options import (
    LEAVE_OUT,
    MAX_TOKENS_AS,
    option_problems,
    unknown_options,
)
from failproof_es.models.trust.vendors import AZURE, ENTRA_CREDENTIALS

if TYPE_CHECKING:
    from failproof_es.models.providers.azure.provider import AzureProvider

API_VERSION, DEPLOYMENT = "api_version", "deployment"
"""The options besides `CREDENTIALS` and those of the OpenAI family."""
LATEST = "2024-10-21"
"""The default version of the API."""
_OPTIONS = (API_VERSION, DEPLOYMENT, CREDENTIALS, LEAVE_OUT, MAX_TOKENS_AS)
_VERSION = re.compile(r"20\d\d-\d\d-\d\d(-preview)?")


class AzureType(HttpProviderType):
    """The provider type `azure`: deployments of a resource, `https://NAME.openai.azure.com`."""

    name = "azure"
    telemetry_name = "azure.ai.openai"
    vendor = AZURE
    capabilities = Capabilities(tools=True, schema=True, streaming=True)
    takes = HttpProviderType.takes | {"options"}
    needs = frozenset({"base_url"})

    def problems(self, model: Model) -> Iterable[EntryProblem]:
        """Yield the errors in the options, and one for a URL that contains a path of the API."""
        yield from credential_problems(model, ENTRA_CREDENTIALS)
        yield from unknown_options(model, _OPTIONS)
        yield from option_problems(model)
        version = model.options.get(API_VERSION, LATEST)
        if not (isinstance(version, str) and _VERSION.fullmatch(version)):
            yield EntryProblem(
                "invalid-value",
                "options",
                f"`{API_VERSION}` has an invalid value",
                f"write it as text, like '{LATEST}'",
            )
        deployment = model.options.get(DEPLOYMENT, model.model)
        if not (isinstance(deployment, str) and deployment):
            yield EntryProblem("invalid-value", "options", f"`{DEPLOYMENT}` is not the name of one")
        if "/openai" in (model.base_url or ""):
            yield EntryProblem(
                "invalid-url",
                "base_url",
                "holds /openai: provider `azure` puts its own paths after it",
                "write it like https://NAME.openai.azure.com",
            )

    def describe_check(self, model: Model, *, offline: bool) -> str:
        """The check in words: the URL of the request, and the key's variable or token."""
        version = model.options.get(API_VERSION, LATEST)
        description = super().describe_check(model, offline=offline)
        if CREDENTIALS in model.options:
            description = description.replace("without a key", "with a token of Entra")
        return description.replace("/openai/models", f"/openai/models?api-version={version}")

    def implementation(self) -> type[AzureProvider]:
        """The class of the `Provider`, imported here because only it needs the HTTP client."""
        from failproof_es.models.providers.azure.provider import AzureProvider

        return AzureProvider


PROVIDER = AzureType()
