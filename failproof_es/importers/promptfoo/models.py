"""Maps promptfoo's providers to entries of `models:`, never with a key. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from failproof_es.importers.promptfoo.documents import DocumentNode
from failproof_es.importers.protocol import Findings

_PROVIDERS: Mapping[str, tuple[str, frozenset[str]]] = {
    "openai": ("openai", frozenset({"chat"})),
    "anthropic": ("anthropic", frozenset({"messages"})),
    "ollama": ("ollama", frozenset({"chat", "completion"})),
    "google": ("gemini", frozenset()),
    "mistral": ("mistral", frozenset()),
    "openrouter": ("openrouter", frozenset()),
}
_SERVERS = {
    "openai": "https://api.openai.com/v1",
    "openai-responses": "https://api.openai.com/v1",
    "ollama": "http://127.0.0.1:11434",
}
"""promptfoo's default URLs, for providers whose entries need a `base_url` here."""
MAX_MODELS = 100
_DEFAULT_TOKENS = 1024
_REASONING_TOKENS = 8192
"""The token limit of reasoning models, thoughts included; promptfoo sets none for them."""
_REASONING = re.compile(r"o\d|gpt-[5-9](?!.*-chat)")
"""Matches OpenAI's models that refuse `temperature` and `max_tokens`; promptfoo sends neither."""
_RENAMED_PARAMETERS = {
    "temperature": "temperature",
    "max_tokens": "max_tokens",
    "maxTokens": "max_tokens",
}
_PARAMETERS = frozenset({"top_p", "frequency_penalty", "presence_penalty", "stop"})
_SECRET = "a key is never taken over: name its environment variable as `api_key_env`"  # noqa: S105
_OTHER_KEYS = frozenset({"id", "config", "label"})


def read_models(configuration: DocumentNode, findings: Findings) -> Iterator[dict[str, Any]]:
    """Yield an entry for `models:` for each provider that maps; others are noted in `findings`."""
    name = "providers" if "providers" in configuration.value else "targets"
    definition = configuration.value.get(name)
    entries = (
        definition if isinstance(definition, list) else [] if definition is None else [definition]
    )
    seen: list[dict[str, Any]] = []
    for index, entry in enumerate(entries):
        steps: tuple[str | int, ...] = (name, index) if entries is definition else (name,)
        document = configuration.part(*steps, value=entry)
        if len(seen) >= MAX_MODELS:
            findings.note(document.place(), f"more than {MAX_MODELS} models are not taken over")
            return
        model = _map_model(document, findings)
        if model is not None and model not in seen:
            seen.append(model)
            yield model


def _map_model(document: DocumentNode, findings: Findings) -> dict[str, Any] | None:
    entry = document.value
    options: dict[str, Any] = {}
    if isinstance(entry, dict):
        if "id" not in entry and len(entry) == 1:
            [(identifier, options)] = entry.items()
            entry = {**(options if isinstance(options, dict) else {}), "id": identifier}
        for key in entry.keys() - _OTHER_KEYS:
            findings.note(document.place(key), "the key of a provider is not known here")
        config = entry.get("config")
        options = config if isinstance(config, dict) else {}
        entry = entry.get("id")
    if not isinstance(entry, str):
        findings.note(document.place(), "the provider is no name")
        return None
    kind, *rest = entry.split(":")
    provider, ways = _PROVIDERS.get(kind, (None, frozenset()))
    if kind == "openai" and rest[:1] == ["responses"]:
        provider, rest = "openai-responses", rest[1:]
    elif len(rest) > 1 and rest[0] in ways:
        rest = rest[1:]
    if provider is None or not rest or (len(rest) > 1 and kind != "ollama"):
        findings.note(document.place(), "the provider has no counterpart here: name a model")
        return None
    model: dict[str, Any] = {"provider": provider, "model": ":".join(rest)}
    if provider in _SERVERS:
        model["base_url"] = _SERVERS[provider]
    model |= {"max_tokens": _DEFAULT_TOKENS, "temperature": 0.0}
    if provider in ("openai", "openai-responses") and _REASONING.match(model["model"]):
        model["max_tokens"] = _REASONING_TOKENS
        model["options"] = {"leave_out": ["temperature"]}
        if provider == "openai":
            model["options"]["max_tokens_as"] = "max_completion_tokens"
    _configure(model, document, options, findings)
    return model


def _configure(
    model: dict[str, Any], document: DocumentNode, options: Mapping[str, Any], findings: Findings
) -> None:
    for key, value in options.items():
        place = document.place("config", key)
        if (
            key in _RENAMED_PARAMETERS
            and isinstance(value, int | float)
            and not isinstance(value, bool)
        ):
            model[_RENAMED_PARAMETERS[key]] = value
        elif key == "seed" and isinstance(value, int):
            model["seed"] = value
        elif key in _PARAMETERS:
            model.setdefault("parameters", {})[key] = value
        elif key in ("apiBaseUrl", "apiHost") and isinstance(value, str) and "{" not in value:
            model["base_url"] = value
        elif key == "apiKeyEnvar" and isinstance(value, str):
            model["api_key_env"] = value
        elif "key" in key.lower() or "token" in key.lower() or "secret" in key.lower():
            findings.note(place, _SECRET)
        else:
            findings.note(place, "the setting of a provider is not taken over")
