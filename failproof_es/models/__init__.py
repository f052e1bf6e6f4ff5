"""The models room: one provider for each wire protocol, all of one shape."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from failproof_es.configuration.schema import Model
from failproof_es.events import ModelSnapshot
from failproof_es.models.anthropic import BASE_URL, AnthropicProvider
from failproof_es.models.local import LocalProvider
from failproof_es.models.local_process import SLOTS
from failproof_es.models.openai import OpenAIProvider
from failproof_es.models.packages import package_of
from failproof_es.models.protocol import Answer, ModelError, PreparedRequest, Provider
from failproof_es.models.python import PythonProvider
from failproof_es.models.weights import find, sha256
from failproof_es.problems import InvalidInput

__all__ = [
    "Answer",
    "ModelError",
    "PreparedRequest",
    "Provider",
    "base_url_of",
    "create_provider",
    "model_keys",
    "most_at_once",
    "package_of",
    "snapshot",
]


def create_provider(model: Model, *, timeout_ms: int, connections: int) -> Provider:
    """The provider that `model.provider` names. Nothing is opened yet."""
    if model.provider == "local":
        return LocalProvider(model, timeout_ms=timeout_ms, connections=connections)
    if model.provider == "python":
        return PythonProvider(model, timeout_ms=timeout_ms)
    base_url = base_url_of(model)
    if base_url is None:
        raise InvalidInput.because(f"model {model.model}: provider `openai` needs `base_url`")
    kind = AnthropicProvider if model.provider == "anthropic" else OpenAIProvider
    return kind(model, base_url, timeout_ms=timeout_ms, connections=connections)


def base_url_of(model: Model) -> str | None:
    """Where the model's server is: what is configured, or where its provider is known to be.

    `None` for a model on this machine and for a class of the user's own.
    """
    if model.base_url is None and model.provider == "anthropic":
        return BASE_URL
    return model.base_url


def most_at_once(model: Model) -> int | None:
    """How many requests its server answers side by side, where that is known beforehand.

    More than that would wait inside the server of a model on this machine.
    """
    return SLOTS if model.provider == "local" else None


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


def snapshot(model: Model, key: str) -> ModelSnapshot:
    """The model's configuration as a run records it; secrets by the variable's name only."""
    parameters = {
        "max_tokens": model.max_tokens,
        "temperature": model.temperature,
        **({} if model.seed is None else {"seed": model.seed}),
        **model.parameters,
    }
    named = {
        "base_url": base_url_of(model),
        "api_key_env": model.api_key_env,
        "class": model.class_,
        "backend": model.backend,
    }
    if model.version is not None:
        named["version_check"] = model.version_check
    settings = {name: value for name, value in named.items() if value is not None}
    if model.provider == "local":
        settings["weights_sha256"] = sha256(find(model.model))
    return ModelSnapshot(
        key=key,
        provider=model.provider,
        model=model.model,
        version=model.version,
        parameters=parameters,
        settings=settings,
    )
