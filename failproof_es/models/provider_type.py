"""The interface of a provider (`ProviderType`), and a base class for new ones.

A provider is an instance of a class with this interface, registered under its name in the entry
point group `failproof_es.providers`. It is imported only when a configuration or a record names it;
its own dependencies (an HTTP client, a library) it imports in `create`. No code outside a provider
knows a field of its protocol. `failproof_es.testing.provider_contract` tests a provider;
`docs/how-to/providers.md` is the tutorial.

There is one `ProviderType` for each provider, and one `Provider` (in `protocol`) for each entry of
`models:` in a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
]


@dataclass(frozen=True, slots=True)
class PriceSource:
    """The key of a model's prices in `genai-prices`: the provider's id there, or its URL."""

    provider_id: str | None = None
    api_url: str | None = None


class ProviderType(EntryRules, Protocol):
    """One provider: everything that differs between providers."""

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
        """The environment variables whose values must never be recorded."""

    def destination(self, model: Model) -> str:
        """Where the secrets are sent, for people: `api.example.com (https)`."""

    def describe_check(self, model: Model, *, offline: bool) -> str:
        """What `Provider.check` did, for people: `sent GET https://... with the key in X`."""

    # -- how it is recorded ----------------------------------------------------------------

    def snapshot(self, model: Model) -> Mapping[str, str]:
        """Settings to record with a run in addition to those of every model; no secrets.

        A setting `identity` identifies the model in place of its name: runs are comparable if
        it is the same. Raises `InvalidInput`.
        """

    def packages(self, model: Model) -> Mapping[str, str]:
        """The packages that a result can depend on, with their versions."""

    def too_weak_to_judge(self, model: Model) -> bool:
        """Whether its verdicts as a judge must not be trusted (a test model, for example)."""

    def price_source(self, model: ModelSnapshot) -> PriceSource | None:
        """The key of the model's published prices; `None` if there can be none."""

    # -- asking ----------------------------------------------------------------------------

    def create(
        self, model: Model, *, timeout_ms: int, connections: int, key: str | None = None
    ) -> Provider:
        """Create the model's `Provider`, without opening anything. Raises `InvalidInput`.

        `key` is sent if the entry names no variable for its key.
        """

    @property
    def waits_for_progress(self) -> bool:
        """Whether an attempt may exceed its time-out as long as it makes progress.

        If not, an attempt that has not ended after twice that time is given up.
        """

    async def fetch_model(self, model: Model) -> bool:
        """Make the server fetch a missing model; returns whether it can. Raises `InvalidInput`."""

    # -- reading recorded replies ----------------------------------------------------------

    def reparse(self, response: ResponseReceived) -> Answer | None:
        """Parse recorded raw bytes again, exactly as they were parsed when received. Pure.

        `None` if there is nothing to parse: the bytes are only the text. Raises `ModelError`.
        """

    def request_is_complete(self, body: bytes, messages: Sequence[Turn]) -> bool:
        """Whether a request's body holds every message in full. Pure."""


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
    """A provider with models that `failproof-es models` lists and installs."""

    def installable(self) -> Sequence[Installable]:
        """All models that can be installed."""

    def install(self, name: str) -> str:
        """Install a model unless it is present; returns its path. Raises `InvalidInput`."""


@runtime_checkable
class ModelLister(Protocol):
    """A `Provider` whose server lists the models that are available to a key."""

    async def list_models(self) -> list[str]:
        """The names of the models, from every page of the list, in the server's order.

        Raises `InvalidInput` if the server can't be reached, refuses the key, or has no list.
        """


def provider_type(name: str) -> ProviderType:
    """The provider of that name, imported on first use.

    Raises `InvalidInput` if it does not exist or cannot be loaded.
    """
    provider: ProviderType = PROVIDERS.load(name)
    return provider


class BaseProviderType:
    """A provider type with the defaults that suit most providers.

    A subclass defines `name`, `capabilities` and `create`, and overrides what differs.
    `failproof_es.models.http_type.HttpProviderType` is the base class for providers over HTTP.
    """

    name: str
    capabilities: Capabilities
    api_version = PROVIDER_API_VERSION
    takes: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()
    reserved = RESERVED
    waits_for_progress = False

    def default_key_variable(self, base_url: str | None) -> str | None:
        """See `EntryRules`. No default."""
        return None

    def problems(self, model: Model) -> Iterable[EntryProblem]:
        """See `EntryRules`. No problems."""
        return ()

    def base_url(self, model: Model) -> str | None:
        """See `ProviderType`. The configured URL."""
        return model.base_url

    def server(self, model: Model) -> str:
        """See `ProviderType`. The base URL; without one, a name for each model."""
        base_url = self.base_url(model)
        if base_url is None:
            return f"{model.provider}:{model.class_ or model.model}"
        return base_url.rstrip("/")

    def max_concurrency(self, model: Model) -> int | None:
        """See `ProviderType`. Unknown."""
        return None

    def secret_variables(self, model: Model) -> tuple[str, ...]:
        """See `ProviderType`. The variables that `api_key_env` and `headers` name."""
        key = (model.api_key_env,) if model.api_key_env else ()
        return (*key, *dict.fromkeys(model.headers.values()))

    def destination(self, model: Model) -> str:
        """See `ProviderType`."""
        parts = urlsplit(self.base_url(model) or "")
        where = f"{parts.netloc} ({parts.scheme})" if parts.netloc else self.server(model)
        return where if model.proxy is None else f"{where}, by {urlsplit(model.proxy).netloc}"

    def describe_check(self, model: Model, *, offline: bool) -> str:
        """See `ProviderType`."""
        return f"{'not looked at (--offline)' if offline else 'looked at'}: {self.server(model)}"

    def snapshot(self, model: Model) -> Mapping[str, str]:
        """See `ProviderType`. No further settings."""
        return {}

    def unsent(self, model: Model) -> frozenset[str]:
        """Those of `temperature` and `seed` that no request contains; they are not recorded."""
        return frozenset()

    def packages(self, model: Model) -> Mapping[str, str]:
        """See `ProviderType`. The package of the provider, unless it is this one."""
        package = PROVIDERS.package_of(self.name)
        return {} if package is None else dict([package])

    def too_weak_to_judge(self, model: Model) -> bool:
        """See `ProviderType`. Only the user's configuration can tell."""
        return False

    def price_source(self, model: ModelSnapshot) -> PriceSource | None:
        """See `ProviderType`. By its URL: the same name on another server may cost anything."""
        base_url = model.settings.get("base_url")
        return None if base_url is None else PriceSource(api_url=base_url)

    async def fetch_model(self, model: Model) -> bool:
        """See `ProviderType`. Not supported."""
        return False

    def reparse(self, response: ResponseReceived) -> Answer | None:
        """See `ProviderType`. Not supported."""
        return None

    def request_is_complete(self, body: bytes, messages: Sequence[Turn]) -> bool:
        """See `ProviderType`. For a JSON body with the list `messages`, as most APIs have it."""
        return holds_messages(body, messages)


def holds_messages(body: bytes, messages: Sequence[Turn]) -> bool:
    """Whether the JSON body's `messages` have exactly these roles and contents, in this order."""
    try:
        document = orjson.loads(body)
        sent = [(message.get("role"), message.get("content")) for message in document["messages"]]
    except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError):
        return False
    return sent == [(turn.role, turn.content) for turn in messages]
