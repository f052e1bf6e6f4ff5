"""The interface of a provider (`ProviderType`), and a base class for new ones.

A provider is an instance of a class with this interface, registered under its name in the entry
point group `failproof_es.providers`. It is imported only when a configuration or a record names it;
its own dependencies (an HTTP client, a library) it imports in `create`. No code outside a provider
knows a field of its protocol. `failproof_es.testing.provider_contract` tests a provider;
`docs/how-to/write-a-provider.md` is the tutorial.

There is one `ProviderType` for each provider, and one `Provider` (in `protocol`) for each entry of
`models:` in a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol, runtime_checkable
from urllib.parse import urlsplit

import orjson

from failproof_es.configuration.providers import (
    PROVIDER_API_VERSION,
    PROVIDERS,
    RESERVED,
    Capabilities,
    EntryProblem,
    EntryRules,
)
from failproof_es.configuration.schema import Model
from failproof_es.core.case import Turn
from failproof_es.events import ModelSnapshot, ResponseReceived
from failproof_es.models.protocol import Answer, Provider
from failproof_es.models.request_options import left_out
from failproof_es.problems import InvalidInput

__all__ = [
    "PROVIDER_API_VERSION",
    "BaseProviderType",
    "Capabilities",
    "EntryProblem",
    "Installable",
    "ModelInstaller",
    "ModelLister",
    "PriceSource",
    "ProviderType",
    "holds_messages",
    "provider_type",
    "telemetry_name",
]


@dataclass(frozen=True, slots=True)
class PriceSource:
    """The key of a model's prices in `genai-prices`: the provider's id there, or its URL."""

    provider_id: str | None = None
    api_url: str | None = None


class ProviderType(EntryRules, Protocol):
    """The interface of a provider type: everything that differs between providers."""

    # -- the server ------------------------------------------------------------------------

    def base_url(self, model: Model) -> str | None:
        """The URL of the model's server: the configured one, or else the provider's default.

        `None` for a model on this machine or in this process.
        """

    def server(self, model: Model) -> str:
        """The name of the server: models with the same name share its limits."""

    def max_concurrency(self, model: Model) -> int | None:
        """The number of requests that the server answers in parallel; `None` if unknown."""

    def secret_variables(self, model: Model) -> tuple[str, ...]:
        """The names of the environment variables whose values must never be recorded."""

    def destination(self, model: Model) -> str:
        """The receiver of the secrets, for people: `api.example.com (https)`."""

    def describe_check(self, model: Model, *, offline: bool) -> str:
        """`Provider.check` in words: `sent GET https://... with the key in X`."""

    # -- how it is recorded ----------------------------------------------------------------

    def snapshot(self, model: Model) -> Mapping[str, str]:
        """Settings to record with a run in addition to those of every model; no secrets.

        A setting `identity` identifies the model in place of its name: runs are comparable if it is
        the same. Raises `InvalidInput` if a setting cannot be determined, for example without the
        model's file.
        """

    def packages(self, model: Model) -> Mapping[str, str]:
        """The installed packages that a result can depend on: the version of each, by its name."""

    def too_weak_to_judge(self, model: Model) -> bool:
        """Whether the model's verdicts as a judge must not be trusted, as those of a test model."""

    def price_source(self, model: ModelSnapshot) -> PriceSource | None:
        """The key of the model's published prices; `None` if there can be none."""

    # -- asking ----------------------------------------------------------------------------

    def create(
        self, model: Model, *, timeout_ms: int, connections: int, key: str | None = None
    ) -> Provider:
        """Create the model's `Provider`, without opening anything.

        `timeout_ms` (milliseconds) limits each request, `connections` the connections to the
        server. `key` is sent if the model names no variable for its key. Raises `InvalidInput` if a
        required setting is missing.
        """

    @property
    def waits_for_progress(self) -> bool:
        """Whether a request may exceed its time-out as long as it makes progress.

        If not, a request that has not ended after twice that time is given up.
        """

    async def fetch_model(self, model: Model) -> bool:
        """Make the server fetch a missing model; returns whether the server can do that.

        Raises `InvalidInput` if the server can, and fails to fetch the model.
        """

    # -- reading recorded replies ----------------------------------------------------------

    def reparse(self, response: ResponseReceived) -> Answer | None:
        """Parse recorded raw bytes again, exactly as they were parsed when received. Pure.

        `None` if there is nothing to parse: the bytes are only the text. Raises `ModelError` if the
        bytes hold no answer.
        """

    def request_is_complete(self, body: bytes, messages: Sequence[Turn]) -> bool:
        """Whether the body of a recorded request holds every message in full. Pure.

        A body that cannot be read does not.
        """


@dataclass(frozen=True, slots=True)
class Installable:
    """A model that can be installed on this machine by name."""

    name: str
    licence: str
    source: str
    """The source that is installed: a requirement or a URL."""
    path: str | None
    """Its path; `None` if it is absent."""
    installed: bool
    """Whether the model is present and correct."""


@runtime_checkable
class ModelInstaller(Protocol):
    """A provider type with models that `failproof-es models` lists and installs."""

    def installable(self) -> Sequence[Installable]:
        """All models that can be installed."""

    def install(self, name: str) -> str:
        """Install the model `name` unless it is present; return its path.

        Raises `InvalidInput` if there is no such model or the installation fails.
        """


@runtime_checkable
class ModelLister(Protocol):
    """A `Provider` whose server lists the models that are available to a key."""

    async def list_models(self) -> list[str]:
        """The names of the models, from every page of the list, in the server's order.

        Raises `InvalidInput` if the server can't be reached, refuses the key, or has no list.
        """


def provider_type(name: str) -> ProviderType:
    """The provider type of that name, imported on first use.

    Raises `InvalidInput` if it does not exist or cannot be loaded.
    """
    provider: ProviderType = PROVIDERS.load(name)
    return provider


def telemetry_name(name: str) -> str:
    """The provider's name in OpenTelemetry's conventions; `name` if it is not installed."""
    with suppress(InvalidInput):
        return getattr(provider_type(name), "telemetry_name", None) or name
    return name


class BaseProviderType:
    """A provider type with the defaults that suit most providers.

    A subclass defines `name`, `capabilities` and `create`, and overrides what differs.
    `failproof_es.models.http_type.HttpProviderType` is the base class for providers over HTTP.
    """

    name: str
    telemetry_name: str | None = None
    """`gen_ai.provider.name` in OpenTelemetry's conventions, if it differs from `name`."""
    capabilities: Capabilities
    api_version = PROVIDER_API_VERSION
    takes: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()
    reserved = RESERVED
    waits_for_progress = False

    def default_key_variable(self, base_url: str | None) -> str | None:
        """`None`: the provider has no default variable for a key."""
        return None

    def problems(self, model: Model) -> Iterable[EntryProblem]:
        """The errors in a model's entry, besides those that a configuration finds itself: none."""
        return ()

    def base_url(self, model: Model) -> str | None:
        """The configured URL of the model's server; `None` without one."""
        return model.base_url

    def server(self, model: Model) -> str:
        """The name of the server, whose limits its models share: the base URL.

        Without a base URL each model (or each user's class) has a name of its own.
        """
        base_url = self.base_url(model)
        if base_url is None:
            return f"{model.provider}:{model.class_ or model.model}"
        return base_url.rstrip("/")

    def max_concurrency(self, model: Model) -> int | None:
        """`None`: it is unknown how many requests the server answers in parallel."""
        return None

    def secret_variables(self, model: Model) -> tuple[str, ...]:
        """The variables that `api_key_env` and `headers` name; their values are never recorded."""
        key = (model.api_key_env,) if model.api_key_env else ()
        return (*key, *dict.fromkeys(model.headers.values()))

    def destination(self, model: Model) -> str:
        """The receiver of the secrets, for people: the server's host and scheme, and the proxy."""
        parts = urlsplit(self.base_url(model) or "")
        where = f"{parts.netloc} ({parts.scheme})" if parts.netloc else self.server(model)
        return where if model.proxy is None else f"{where}, by {urlsplit(model.proxy).netloc}"

    def describe_check(self, model: Model, *, offline: bool) -> str:
        """`Provider.check` in words: the server that was looked at."""
        return f"{'not looked at (--offline)' if offline else 'looked at'}: {self.server(model)}"

    def snapshot(self, model: Model) -> Mapping[str, str]:
        """The settings to record in addition to those of every model: none."""
        return {}

    def unsent(self, model: Model) -> frozenset[str]:
        """The parameters that no request contains: by default those of the option `leave_out`.

        A run does not record them.
        """
        return left_out(model)

    def packages(self, model: Model) -> Mapping[str, str]:
        """The version of the provider's package, by its name.

        Empty if the provider ships with this program.
        """
        package = PROVIDERS.package_of(self.name)
        return {} if package is None else dict([package])

    def too_weak_to_judge(self, model: Model) -> bool:
        """`False`: no model of the provider is known to be too weak to judge."""
        return False

    def price_source(self, model: ModelSnapshot) -> PriceSource | None:
        """The key of the model's published prices: its URL; `None` without a URL.

        A model of the same name on another server may have any price.
        """
        base_url = model.settings.get("base_url")
        return None if base_url is None else PriceSource(api_url=base_url)

    async def fetch_model(self, model: Model) -> bool:
        """Returns `False`: the server cannot be made to fetch a missing model."""
        return False

    def reparse(self, response: ResponseReceived) -> Answer | None:
        """Returns `None`: recorded bytes are not parsed again."""
        return None

    def request_is_complete(self, body: bytes, messages: Sequence[Turn]) -> bool:
        """Whether a request's body holds every message in full.

        For a JSON body with the list `messages`, as most APIs have it.
        """
        return holds_messages(body, messages)


def holds_messages(body: bytes, messages: Sequence[Turn]) -> bool:
    """Whether the JSON body's `messages` have exactly these roles and contents, in this order.

    `False` for a body that is not JSON.
    """
    try:
        document = orjson.loads(body)
        sent = [(message.get("role"), message.get("content")) for message in document["messages"]]
    except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError):
        return False
    return sent == [(turn.role, turn.content) for turn in messages]
