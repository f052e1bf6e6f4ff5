"""Amazon Bedrock's Converse API: `converse`, and `converse-stream` as binary frames."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import orjson

from failproof_es.configuration.schema import Model
from failproof_es.core.case import Turn
from failproof_es.models.http_type import HttpProviderType
from failproof_es.models.provider_type import Capabilities, EntryProblem
from failproof_es.models.request_options import LEAVE_OUT, option_problems, unknown_options
from failproof_es.models.trust.vendors import BEDROCK
from failproof_es.support.extras import require

if TYPE_CHECKING:
    from failproof_es.models.providers.bedrock.provider import BedrockProvider

REGION, ACCESS_KEY, SESSION_TOKEN = "region", "access_key_env", "session_token_env"
"""The options besides `LEAVE_OUT`. With `access_key_env` requests are signed; the key is the secret
access key."""
_OPTIONS = (REGION, ACCESS_KEY, SESSION_TOKEN, LEAVE_OUT)
_REGION = re.compile(r"[a-z]{2,4}(-[a-z]+){1,3}-[0-9]{1,2}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class BedrockType(HttpProviderType):
    """The provider type `bedrock`: models on the server of a region, or of another base URL."""

    name = "bedrock"
    telemetry_name = "aws.bedrock"
    vendor = BEDROCK
    capabilities = Capabilities(
        tools=True, schema=False, streaming=True, seed=False, shows_version=False
    )
    takes = HttpProviderType.takes | {"options"}
    needs = frozenset({"api_key_env"})
    reserved = frozenset(
        {
            *("model", "modelId", "messages", "system", "inferenceConfig", "toolConfig", "seed"),
            *("maxTokens", "max_tokens", "temperature", "stream"),
        }
    )

    def default_key_variable(self, base_url: str | None) -> str | None:
        """The vendor's key variable without a URL, or for the vendor's own; `None` for any other.

        Without a URL, the server is the vendor's own for the region.
        """
        return BEDROCK.variable if base_url is None else super().default_key_variable(base_url)

    def base_url(self, model: Model) -> str | None:
        """The URL of the model's server: the configured one, or else the region's."""
        if model.base_url is not None:
            return model.base_url
        return f"https://bedrock-runtime.{model.options.get(REGION)}.amazonaws.com"

    def problems(self, model: Model) -> Iterable[EntryProblem]:
        """Yield an error for each missing, wrong and unknown option."""
        options = model.options
        yield from unknown_options(model, _OPTIONS)
        yield from option_problems(model)
        region = options.get(REGION)
        if REGION not in options and (model.base_url is None or ACCESS_KEY in options):
            yield EntryProblem(
                "missing-field",
                "options",
                f"`{REGION}` is missing: it says in which region the model is",
                "write it like us-east-1",
            )
        elif region is not None and not (isinstance(region, str) and _REGION.fullmatch(region)):
            yield EntryProblem(
                "invalid-value",
                "options",
                f"`{REGION}` has an invalid value",
                "write it like us-east-1",
            )
        for name in (ACCESS_KEY, SESSION_TOKEN):
            value = options.get(name)
            if name in options and not (isinstance(value, str) and _VARIABLE.fullmatch(value)):
                message = f"`{name}` is not the name of an environment variable"
                yield EntryProblem("invalid-value", "options", message)
        if SESSION_TOKEN in options and ACCESS_KEY not in options:
            yield EntryProblem(
                "no-effect", "options", f"`{SESSION_TOKEN}` has no effect without `{ACCESS_KEY}`"
            )

    def secret_variables(self, model: Model) -> tuple[str, ...]:
        """The variables of secrets that the entry and its options name."""
        variables = (model.options.get(name) for name in (ACCESS_KEY, SESSION_TOKEN))
        return (*super().secret_variables(model), *(variable for variable in variables if variable))

    def describe_check(self, model: Model, *, offline: bool) -> str:
        """The check in words: it sends nothing.

        Not every key may read the list of models.
        """
        return f"looked for the key in {model.api_key_env}; {self.base_url(model)} was not asked"

    def implementation(self) -> type[BedrockProvider]:
        """The class of the `Provider`, imported here because only it needs the HTTP client."""
        from failproof_es.models.providers.bedrock.provider import BedrockProvider

        return BedrockProvider

    def request_is_complete(self, body: bytes, messages: Sequence[Turn]) -> bool:
        """Whether a request's body holds every message in full.

        Each turn is one block of text; system turns are in `system`.
        """
        try:
            document = orjson.loads(body)
            sent = [
                (message["role"], _texts(message["content"])) for message in document["messages"]
            ]
            system = _texts(document.get("system", []))
        except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError):
            return False
        conversation = [(turn.role, [turn.content]) for turn in messages if turn.role != "system"]
        return sent == conversation and system == [
            t.content for t in messages if t.role == "system"
        ]


def _texts(blocks: list[dict[str, str]]) -> list[str]:
    return [block["text"] for block in blocks]


def require_signer() -> None:
    """Raises `InvalidInput` unless the extra `aws`, which signs requests, is installed."""
    require("aws", f"the option `{ACCESS_KEY}` of the provider `bedrock`")


PROVIDER = BedrockType()
