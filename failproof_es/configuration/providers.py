"""The registry of providers, and which settings an entry of `models:` may have for each.

The registry is here because a configuration is checked before anything else. To add a provider,
change nothing here: name it in `pyproject.toml`, entry points `failproof_es.providers`.
What else a provider is, `failproof_es.models.provider_type` says.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from failproof_es.support.entry_points import EntryPoints

if TYPE_CHECKING:
    from failproof_es.configuration.schema import Model

PROVIDER_API_VERSION = 1
"""The version of the provider API. It grows when a provider for an older one would not work."""
GROUP = "failproof_es.providers"
"""The group of entry points. The name of one is what `provider:` says in a configuration; what it
points to is an instance of a provider type."""
RESERVED = frozenset({"model", "messages", "max_tokens", "temperature", "seed", "stream", "n"})
"""What `parameters` may not hold at most providers: it has a key of its own, or is not measured."""
SETTINGS = ("base_url", "class", "api_key_env", "options")
"""The keys of an entry that a provider takes or does not."""


class EntryProblem(NamedTuple):
    """What is wrong with an entry of `models:`."""

    field: str
    """The key of the entry, e.g. `base_url`."""
    message: str
    """Reads on after the key: `base_url: is missing`."""
    remedy: str | None = None
    """What to do about it."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a provider can do. What it can't is refused in a configuration, or left out."""

    tools: bool
    """A request can offer tools, and an answer call them."""
    schema: bool
    """A reply can be held to a JSON Schema."""
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
        """Its name in a configuration: the name of its entry point."""

    @property
    def api_version(self) -> int:
        """The `PROVIDER_API_VERSION` that it was written for."""

    @property
    def capabilities(self) -> Capabilities:
        """What it can do."""

    @property
    def takes(self) -> frozenset[str]:
        """Those of `SETTINGS` that mean something to it."""

    @property
    def needs(self) -> frozenset[str]:
        """Those of `SETTINGS` that it can't do without."""

    @property
    def reserved(self) -> frozenset[str]:
        """What `parameters` may not hold. See `RESERVED`."""

    def default_key_variable(self, base_url: str | None) -> str | None:
        """The environment variable that holds the key where an entry names none.

        Nothing where it isn't certain that the server behind the URL is the vendor's own: a
        key must not go to another one unless somebody says so.
        """

    def problems(self, model: Model) -> Iterable[EntryProblem]:
        """What else is wrong with an entry, beside what follows from the above."""


MEMBERS = (
    *("name", "api_version", "capabilities", "takes", "needs", "reserved", "default_key_variable"),
    *("problems", "base_url", "server", "max_concurrency", "secret_variables", "destination"),
    *("describe_check", "snapshot", "packages", "too_weak_to_judge", "price_source", "create"),
    *("fetch_model", "reparse", "request_is_complete"),
)
"""The members that every provider type must have."""


def _fault(offered: Any, name: str) -> str | None:
    """Why an entry point's object is not a provider type for this API version."""
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
    GROUP, "provider", _fault, "see docs/how-to/providers.md for what a provider has to be"
)
"""Every provider that can be named. Loaded when it is; `provider_type` has the type of one."""


def rules_of(name: str) -> EntryRules:
    """The provider of that name. Raises `InvalidInput` as `EntryPoints.load` does."""
    rules: EntryRules = PROVIDERS.load(name)
    return rules
