"""The registry of providers, and which settings an entry of `models:` may have for each.

The registry is here because a configuration is checked before anything else. To add a provider,
change nothing here: name it in `pyproject.toml`, entry points `failproof_es.providers`.
`failproof_es.models.provider_type` defines the rest of a provider.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from failproof_es.problems import InvalidInput
from failproof_es.support.entry_points import EntryPoints

if TYPE_CHECKING:
    from failproof_es.configuration.schema import Model

PROVIDER_API_VERSION = 1
"""The version of the provider API. It grows when a provider for an older one would not work."""
GROUP = "failproof_es.providers"
"""The group of entry points. The name of one is what `provider:` says in a configuration; what it
points to is an instance of a provider type."""
RESERVED = frozenset({"model", "messages", "max_tokens", "temperature", "seed", "stream", "n"})
"""Keys that most providers refuse in `parameters`: they have their own setting, or cannot be
measured."""
SETTINGS = ("base_url", "class", "api_key_env", "options", "headers", "proxy", "ca_file")
"""The keys of an entry that some providers accept and others refuse."""


class EntryProblem(NamedTuple):
    """An error in an entry of `models:`."""

    code: str
    """The code of `problems.Problem`."""
    field: str
    """The key of the entry, e.g. `base_url`."""
    message: str
    """The message that follows the key: `base_url: is missing`."""
    remedy: str | None = None
    """The remedy."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """A provider's features. A configuration that needs another is refused, or does without."""

    tools: bool
    """A request can offer tools, and an answer call them."""
    schema: bool
    """A reply can be constrained to a JSON Schema."""
    streaming: bool
    """An answer can come piece by piece."""
    seed: bool = True
    """A request can carry a seed."""
    shows_version: bool = True
    """An answer names the model that gave it, so that its version can be checked."""


class EntryRules(Protocol):
    """The part of a provider type that a configuration reads. All of it is pure."""

    @property
    def name(self) -> str:
        """The provider's name in a configuration: the name of its entry point."""

    @property
    def api_version(self) -> int:
        """The `PROVIDER_API_VERSION` that the provider was written for."""

    @property
    def capabilities(self) -> Capabilities:
        """The features that the provider supports."""

    @property
    def takes(self) -> frozenset[str]:
        """The `SETTINGS` that the provider accepts."""

    @property
    def needs(self) -> frozenset[str]:
        """The `SETTINGS` that the provider requires."""

    @property
    def reserved(self) -> frozenset[str]:
        """The keys that an entry's `parameters` must not hold, such as those in `RESERVED`."""

    def default_key_variable(self, base_url: str | None) -> str | None:
        """The environment variable of the key, for entries that name none.

        `None` unless the URL is certainly a server of the vendor: a key is sent to another
        server only if the entry names the key's variable.
        """

    def problems(self, model: Model) -> Iterable[EntryProblem]:
        """Further errors in an entry, besides those that follow from the members above."""


MEMBERS = (
    *("name", "api_version", "capabilities", "takes", "needs", "reserved", "default_key_variable"),
    *("problems", "base_url", "server", "max_concurrency", "secret_variables", "destination"),
    *("describe_check", "snapshot", "packages", "too_weak_to_judge", "price_source", "create"),
    *("fetch_model", "reparse", "request_is_complete"),
)
"""The members that every provider type must have."""


def _fault(offered: Any, name: str) -> str | None:
    """Why an entry point's object is not a provider type of this API version; `None` if it is.

    `name` is the name of the entry point, which the provider must have, too.
    """
    if isinstance(offered, type):
        return "is a class: the entry point has to name an instance of it"
    api_version = getattr(offered, "api_version", None)
    if api_version != PROVIDER_API_VERSION:
        return (
            f"was written for version {api_version} of the provider API; "
            f"this program has version {PROVIDER_API_VERSION}"
        )
    if missing := [member for member in MEMBERS if not hasattr(offered, member)]:
        return f"lacks {', '.join(missing)}"
    return None if offered.name == name else f"calls itself {offered.name!r}"


PROVIDERS: EntryPoints[Any] = EntryPoints(
    GROUP, "provider", _fault, "see docs/how-to/write-a-provider.md"
)
"""Every installed provider, loaded on first use. `provider_type` has the type."""


def rules_of(name: str) -> EntryRules:
    """The rules of the provider with this name.

    Raises `InvalidInput` if no package or several register the name, if the import fails, or if it
    is no provider type of this API version.
    """
    rules: EntryRules = PROVIDERS.load(name)
    return rules


def default_key_variable(provider: Any, base_url: Any) -> str | None:
    """The environment variable of the provider's key, for entries that name none.

    `None` if the entry must name it, and for an unknown or broken provider, which the rules report.
    """
    if not isinstance(provider, str) or not isinstance(base_url, str | None):
        return None
    try:
        return rules_of(provider).default_key_variable(base_url)
    except InvalidInput:
        return None
