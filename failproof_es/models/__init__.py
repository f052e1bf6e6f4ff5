"""Model providers, one folder each, behind one interface, and what all of them share.

A provider is a folder here or a module of an installed package; `provider_type` says what it is.
`pyproject.toml` registers ours as entry points, and `failproof_es.configuration.providers` finds
them. `docs/architecture.md`, "Walks", has every step to a new one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import inf
from typing import Any

from failproof_es.configuration.schema import Model
from failproof_es.events import ModelSnapshot
from failproof_es.models.catalog.packages import package_of
from failproof_es.models.protocol import Answer, ModelError, PreparedRequest, Provider
from failproof_es.models.provider_type import BaseProviderType, ProviderType, provider_type

__all__ = [
    "Answer",
    "ModelError",
    "PreparedRequest",
    "Provider",
    "ProviderType",
    "base_url_of",
    "create_provider",
    "max_concurrency",
    "model_keys",
    "package_of",
    "provider_type",
    "secret_variables",
    "sent_parameters",
    "server_of",
    "snapshot",
    "stuck_after_s",
]


def create_provider(model: Model, *, timeout_ms: int, connections: int) -> Provider:
    """The provider that `model.provider` names. Nothing is opened yet. Raises `InvalidInput`.

    `timeout_ms` is for models that have none of their own.
    """
    kind = provider_type(model.provider)
    longest_ms = timeout_ms if model.timeout_ms is None else model.timeout_ms
    return kind.create(model, timeout_ms=longest_ms, connections=connections)


def base_url_of(model: Model) -> str | None:
    """Where the model's server is: what is configured, or where its provider is known to be.

    `None` for a model on this machine and for a class of the user's own.
    """
    return provider_type(model.provider).base_url(model)


def max_concurrency(model: Model) -> int | None:
    """How many requests its server answers side by side, where that is known beforehand.

    More than that would wait inside the server of a model on this machine.
    """
    return provider_type(model.provider).max_concurrency(model)


def stuck_after_s(model: Model, timeout_s: float) -> float:
    """How long one attempt may take before its provider is taken to be stuck, in seconds.

    `timeout_s` is for models that have none of their own.
    """
    kind = provider_type(model.provider)
    longest_s = timeout_s if model.timeout_ms is None else model.timeout_ms / 1000
    return inf if getattr(kind, "waits_for_progress", False) else 2 * longest_s


def server_of(model: Model) -> str:
    """Which server a model stands on: models that share one share its limits."""
    return provider_type(model.provider).server(model)


def secret_variables(model: Model) -> tuple[str, ...]:
    """The environment variables whose values must never be on record."""
    return provider_type(model.provider).secret_variables(model)


def model_keys(models: Sequence[Model]) -> list[str]:
    """A name for each entry of `models:` that is its own within the run.

    The model's name; where two entries share it, `provider:model`; where they share that
    too, numbered `#1`, `#2` in order.
    """
    names = Counter(model.model for model in models)
    keys = [m.model if names[m.model] == 1 else f"{m.provider}:{m.model}" for m in models]
    shared = Counter(keys)
    seen: Counter[str] = Counter()
    unique = []
    for key in keys:
        seen[key] += 1
        unique.append(key if shared[key] == 1 else f"{key}#{seen[key]}")
    return unique


def sent_parameters(model: Model) -> dict[str, Any]:
    """The parameters of every request to the model, by the names of a configuration."""
    kind = provider_type(model.provider)
    unsent = kind.unsent(model) if isinstance(kind, BaseProviderType) else frozenset()
    own = {"max_tokens": model.max_tokens, "temperature": model.temperature, "seed": model.seed}
    sent = {name: value for name, value in own.items() if value is not None and name not in unsent}
    return {**sent, **model.parameters}


def snapshot(model: Model, key: str) -> ModelSnapshot:
    """The model's configuration as a run records it; secrets by the variable's name only."""
    kind = provider_type(model.provider)
    named = {
        "base_url": kind.base_url(model),
        "api_key_env": model.api_key_env,
        "class": model.class_,
        "backend": model.backend,
    }
    if model.version is not None:
        named["version_check"] = model.version_check
    settings = {name: value for name, value in named.items() if value is not None}
    settings |= kind.snapshot(model)
    return ModelSnapshot(
        key=key,
        provider=model.provider,
        model=model.model,
        version=model.version,
        parameters=sent_parameters(model),
        settings=settings,
    )
