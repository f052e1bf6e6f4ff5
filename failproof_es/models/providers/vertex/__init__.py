"""Vertex AI: Google's Gemini API in a project and a location of one's own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from failproof_es.configuration.schema import Model
from failproof_es.models.credentials import CREDENTIALS, credential_problems
from failproof_es.models.provider_type import EntryProblem
from failproof_es.models.providers.gemini import GeminiType
from failproof_es.models.trust.vendors import GOOGLE_CREDENTIALS, VERTEX

if TYPE_CHECKING:
    from failproof_es.models.providers.vertex.provider import VertexProvider

PROJECT, LOCATION = "project", "location"
"""The options besides `CREDENTIALS`."""
_MANY_REGIONS = ("us", "eu")
"""Locations of several regions, whose host names have another form."""
_NAME = re.compile(r"[a-z][a-z0-9:.-]{0,62}")


class VertexType(GeminiType):
    """The provider type `vertex`: models of a project, on the server of its location.

    A configured base URL replaces that server.
    """

    name = "vertex"
    telemetry_name = "gcp.vertex_ai"
    vendor = VERTEX
    takes = GeminiType.takes | {"options"}
    default_base_url = None

    def default_key_variable(self, base_url: str | None) -> str | None:
        """`GOOGLE_ACCESS_TOKEN` without a URL, or for the vendor's own; `None` for any other.

        The token is valid for an hour; `gcloud auth print-access-token` prints one.
        """
        return VERTEX.variable if base_url is None else super().default_key_variable(base_url)

    def base_url(self, model: Model) -> str | None:
        """The configured server or else the location's, with the path of the project."""
        project, location = (model.options.get(name) for name in (PROJECT, LOCATION))
        server = model.base_url
        if server is None:
            server = f"https://{_host(str(location))}/v1"
        return f"{server.rstrip('/')}/projects/{project}/locations/{location}/publishers/google"

    def problems(self, model: Model) -> Iterable[EntryProblem]:
        """Yield an error for each missing, wrong and unknown option."""
        yield from super().problems(model)
        yield from credential_problems(model, GOOGLE_CREDENTIALS)
        for name in sorted(set(model.options) - {PROJECT, LOCATION, CREDENTIALS}):
            there = f"there are `{PROJECT}`, `{LOCATION}` and `{CREDENTIALS}`"
            yield EntryProblem("unknown-field", "options", f"has no `{name}`", there)
        for name, example in ((PROJECT, "my-project-1"), (LOCATION, "us-central1 or global")):
            value = model.options.get(name)
            if not (isinstance(value, str) and _NAME.fullmatch(value)):
                message = f"`{name}` {'is missing' if value is None else 'has an invalid value'}"
                yield EntryProblem(
                    "missing-field" if value is None else "invalid-value",
                    "options",
                    message,
                    f"write it like {example}",
                )

    def describe_check(self, model: Model, *, offline: bool) -> str:
        """The check in words: it looked for the token, and did not ask the server.

        A token that may only call models gets no list of them.
        """
        if CREDENTIALS in model.options and not offline:
            return f"got a token of Google Cloud; {self.base_url(model)} was not asked"
        where = model.api_key_env or "what google-auth finds (--offline)"
        return f"looked for the token in {where}; {self.base_url(model)} was not asked"

    def implementation(self) -> type[VertexProvider]:
        """The class of the `Provider`, imported here because only it needs the HTTP client."""
        from failproof_es.models.providers.vertex.provider import VertexProvider

        return VertexProvider


def _host(location: str) -> str:
    if location == "global":
        return "aiplatform.googleapis.com"
    if location in _MANY_REGIONS:
        return f"aiplatform.{location}.rep.googleapis.com"
    return f"{location}-aiplatform.googleapis.com"


PROVIDER = VertexType()
