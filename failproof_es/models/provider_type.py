"""What a provider is: all that this program asks of one, and a base class to write one on.

A provider is an instance of a class of this shape, offered under its name in the group of entry
points `failproof_es.providers`. It is imported when a configuration or a record names it, and not
before; what it needs to ask (an HTTP client, a library) it imports in `create`. Nothing outside a
provider knows a field of its protocol. `failproof_es.testing.provider_contract` tests one;
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
    """Where `genai-prices` finds what a model costs: by the provider's id there, or by its URL."""

    provider_id: str | None = None
    api_url: str | None = None


class ProviderType(EntryRules, Protocol):
    """One provider. Everything that differs between providers is defined here."""

    # -- where it asks ---------------------------------------------------------------------

    def base_url(self, model: Model) -> str | None:
        """Where the model's server is: as configured, or where it is known to be.

        `None` for what runs on this machine or in this process.
        """

    def server(self, model: Model) -> str:
        """A name for what its requests share the limits of: models with one name share one gate."""

    def max_concurrency(self, model: Model) -> int | None:
        """How many requests the server answers side by side, where that is known beforehand."""

    def secret_variables(self, model: Model) -> tuple[str, ...]:
        """The environment variables whose values must never be on record."""

    def destination(self, model: Model) -> str:
        """Where those values go, for people: `api.example.com (https)`."""

    def describe_check(self, model: Model, *, offline: bool) -> str:
        """What `Provider.check` did, for people: `sent GET https://... with the key in X`."""

    # -- how it is recorded ----------------------------------------------------------------

    def snapshot(self, model: Model) -> Mapping[str, str]:
        """Settings to record with a run beside those of every model; no secret.

        `identity` among them, where there is one, is what the model is, in place of its name:
        runs are comparable when it is the same. Raises `InvalidInput`.
        """

    def packages(self, model: Model) -> Mapping[str, str]:
        """Packages that a result can depend on, each with its version."""

    def too_weak_to_judge(self, model: Model) -> bool:
        """Whether its verdicts as a judge must not be trusted (a test model, for example)."""

    def price_source(self, model: ModelSnapshot) -> PriceSource | None:
        """Where its published prices are; `None` where there can be none."""

    # -- asking ----------------------------------------------------------------------------

    def create(
        self, model: Model, *, timeout_ms: int, connections: int, key: str | None = None
    ) -> Provider:
        """Create the provider that asks the model. Opens nothing. Raises `InvalidInput`.

        `key` is sent where the entry names no variable that holds one.
        """

    @property
    def waits_for_progress(self) -> bool:
        """Whether an attempt may take longer than its time-out as long as something comes.

        Where it is not, an attempt that has not ended by twice that time is given up.
        """

    async def fetch_model(self, model: Model) -> bool:
        """Have the server fetch a model that it lacks; whether it could. Raises `InvalidInput`."""

    # -- reading what is on record ---------------------------------------------------------

    def reparse(self, response: ResponseReceived) -> Answer | None:
        """Parse recorded raw bytes again, exactly as they were parsed when received. Pure.

        `None` where the bytes hold no more than the text. Raises `ModelError`.
        """

    def request_is_complete(self, body: bytes, messages: Sequence[Turn]) -> bool:
        """Whether a request's body holds every message to its last character. Pure."""


@dataclass(frozen=True, slots=True)
class Installable:
    """A model that can be installed on this machine by name."""

    name: str
    licence: str
    source: str
    """What is installed: a requirement, a URL."""
    path: str | None
    """Where it is; `None` where it isn't."""
    installed: bool
    """Whether it is there and is the right one."""


@runtime_checkable
class ModelInstaller(Protocol):
    """A provider with models that `failproof-es models` lists and installs."""

    def installable(self) -> Sequence[Installable]:
        """All that there are."""

    def install(self, name: str) -> str:
        """Install one, unless it is there; where it is. Raises `InvalidInput`."""


@runtime_checkable
class ModelLister(Protocol):
    """A `Provider` whose server lists the models that a key may ask."""

    async def list_models(self) -> list[str]:
        """Their names, from every page of the list, in the server's order.

        Raises `InvalidInput` where the server can't be reached, refuses the key, or lists none.
        """


def provider_type(name: str) -> ProviderType:
    """The provider of that name, imported when it is first asked for.

    Raises `InvalidInput` when there is none, or it is broken.
    """
    provider: ProviderType = PROVIDERS.load(name)
    return provider


class BaseProviderType:
    """A provider type with an answer to everything that most have one and the same answer to.

    A subclass gives `name`, `capabilities` and `create`, and what is different about it.
    `failproof_es.models.http_type.HttpProviderType` is one for what is asked over HTTP.
    """

    name: str
    capabilities: Capabilities
    api_version = PROVIDER_API_VERSION
    takes: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()
    reserved = RESERVED
    waits_for_progress = False

    def default_key_variable(self, base_url: str | None) -> str | None:
        """See `EntryRules`. None is known."""
        return None

    def problems(self, model: Model) -> Iterable[EntryProblem]:
        """See `EntryRules`. There are none."""
        return ()

    def base_url(self, model: Model) -> str | None:
        """See `ProviderType`. What is configured."""
        return model.base_url

    def server(self, model: Model) -> str:
        """See `ProviderType`. The base URL; without one, every model has its own."""
        base_url = self.base_url(model)
        if base_url is None:
            return f"{model.provider}:{model.class_ or model.model}"
        return base_url.rstrip("/")

    def max_concurrency(self, model: Model) -> int | None:
        """See `ProviderType`. It is not known."""
        return None

    def secret_variables(self, model: Model) -> tuple[str, ...]:
        """See `ProviderType`. The one that `api_key_env` names, and those of `headers`."""
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
        """See `ProviderType`. Nothing beside what is recorded of every model."""
        return {}

    def unsent(self, model: Model) -> frozenset[str]:
        """Which of `temperature` and `seed` no request has, so that none is recorded."""
        return frozenset()

    def packages(self, model: Model) -> Mapping[str, str]:
        """See `ProviderType`. The package that offers the provider, unless it is this one."""
        package = PROVIDERS.package_of(self.name)
        return {} if package is None else dict([package])

    def too_weak_to_judge(self, model: Model) -> bool:
        """See `ProviderType`. Only the user's configuration can say."""
        return False

    def price_source(self, model: ModelSnapshot) -> PriceSource | None:
        """See `ProviderType`. By its URL: the same name on another server may cost anything."""
        base_url = model.settings.get("base_url")
        return None if base_url is None else PriceSource(api_url=base_url)

    async def fetch_model(self, model: Model) -> bool:
        """See `ProviderType`. It can't."""
        return False

    def reparse(self, response: ResponseReceived) -> Answer | None:
        """See `ProviderType`. Nothing can be said."""
        return None

    def request_is_complete(self, body: bytes, messages: Sequence[Turn]) -> bool:
        """See `ProviderType`. The body is JSON with the list `messages`, as most APIs want it."""
        return holds_messages(body, messages)


def holds_messages(body: bytes, messages: Sequence[Turn]) -> bool:
    """Whether the body is JSON whose `messages` are these: their roles, contents and order."""
    try:
        document = orjson.loads(body)
        sent = [(message.get("role"), message.get("content")) for message in document["messages"]]
    except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError):
        return False
    return sent == [(turn.role, turn.content) for turn in messages]
