"""Model providers, one folder each, behind one interface, and what all of them share.

A provider is a folder here or a module of an installed package; `provider_type` says what it is.
`pyproject.toml` registers ours as entry points, and `failproof_es.configuration.providers` finds
them. `docs/architecture.md`, "Walks", has every step to a new one.
"""

from __future__ import annotations

from math import inf
from typing import Any

from failproof_es.configuration.prompt_template import RECORDED_AS
from failproof_es.configuration.schema import Model
from failproof_es.configuration.variants import model_keys
from failproof_es.events import ModelSnapshot
from failproof_es.models.catalog.packages import package_of
from failproof_es.models.header_fingerprints import header_fingerprints
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
    """Create the provider that `model.provider` names, without opening anything.

    `timeout_ms` (milliseconds) applies where the model configures no time-out; `connections` is the
    most connections to the model's server. Raises `InvalidInput` if the provider does not exist,
    cannot be loaded or lacks a setting.
    """
    kind = provider_type(model.provider)
    longest_ms = timeout_ms if model.timeout_ms is None else model.timeout_ms
    return kind.create(model, timeout_ms=longest_ms, connections=connections)


def base_url_of(model: Model) -> str | None:
    """The URL of the model's server: the configured one, or else its provider's default.

    `None` for a model on this machine and for a class of the user.
    """
    return provider_type(model.provider).base_url(model)


def max_concurrency(model: Model) -> int | None:
    """The number of requests that the model's server answers in parallel; `None` if unknown.

    Further requests would only queue inside the server.
    """
    return provider_type(model.provider).max_concurrency(model)


def stuck_after_s(model: Model, timeout_s: float) -> float:
    """Seconds after which a request that has not ended counts as stuck: twice the time-out.

    Infinite for a provider that waits as long as there is progress. `timeout_s` (seconds) applies
    where the model configures no time-out.
    """
    kind = provider_type(model.provider)
    longest_s = timeout_s if model.timeout_ms is None else model.timeout_ms / 1000
    return inf if getattr(kind, "waits_for_progress", False) else 2 * longest_s


def server_of(model: Model) -> str:
    """The name of the model's server: models on one server share its limits."""
    return provider_type(model.provider).server(model)


def secret_variables(model: Model) -> tuple[str, ...]:
    """The names of the environment variables whose values must never be recorded."""
    return provider_type(model.provider).secret_variables(model)


def sent_parameters(model: Model) -> dict[str, Any]:
    """The parameters of every request to the model, by their names in a configuration.

    Parameters that are not set, or that the provider does not send, are absent.
    """
    kind = provider_type(model.provider)
    unsent = kind.unsent(model) if isinstance(kind, BaseProviderType) else frozenset()
    own = {"max_tokens": model.max_tokens, "temperature": model.temperature, "seed": model.seed}
    sent = {name: value for name, value in own.items() if value is not None and name not in unsent}
    return {**sent, **model.parameters}


def _recorded_parameters(model: Model) -> dict[str, Any]:
    """The parameters as a run records them: those of a request, and the prompt template."""
    sent = sent_parameters(model)
    if model.prompt_template is None:
        return sent
    return {**sent, RECORDED_AS: model.prompt_template.model_dump(mode="json")}


def snapshot(model: Model, key: str) -> ModelSnapshot:
    """The model's configuration as a run records it, under its `key` in the run.

    Of a secret only the variable's name is recorded, and of a header's value only a fingerprint.
    """
    kind = provider_type(model.provider)
    optional_settings = {
        "base_url": kind.base_url(model),
        "api_key_env": model.api_key_env,
        "class": model.class_,
        "backend": model.backend,
    }
    if model.version is not None:
        optional_settings["version_check"] = model.version_check
    if model.headers:
        optional_settings["headers"] = header_fingerprints(model.headers)
    settings = {name: value for name, value in optional_settings.items() if value is not None}
    settings |= kind.snapshot(model)
    return ModelSnapshot(
        key=key,
        provider=model.provider,
        model=model.model,
        version=model.version,
        parameters=_recorded_parameters(model),
        settings=settings,
    )
