"""Maps promptfoo's providers to entries of `models:`, never with a key.

An entry is written only if it asks the address that promptfoo asks. The address of a provider
without settings is the vendor's; a setting that is not known here may change it. So a provider
with such a setting becomes no entry: its key would go to the vendor.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from failproof_es.importers.promptfoo.documents import DocumentNode
from failproof_es.importers.promptfoo.labels import label_models
from failproof_es.importers.protocol import Findings, Place

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
_LATER_CLAUDE = re.compile(
    r"claude-(?!instant|[1-3](?!\d)|(?:opus|sonnet|haiku)-4(?:-[0-6])?(?:[-@]20\d{6}|-latest)?$)"
)
"""Matches Claude from 4.7 on, which refuses `temperature`."""
_RENAMED_PARAMETERS = {
    "temperature": "temperature",
    **dict.fromkeys(("max_tokens", "maxTokens", "max_completion_tokens"), "max_tokens"),
    **dict.fromkeys(("max_output_tokens", "maxOutputTokens", "num_predict"), "max_tokens"),
}
_PARAMETERS = frozenset({"top_p", "frequency_penalty", "presence_penalty", "stop"})
_SECRET = "a key is never taken over: name its environment variable as `api_key_env`"  # noqa: S105
_NOT_TAKEN_OVER = "the setting of a provider is not taken over"
_LEFT_OUT = (
    "may decide where the key goes, and is not taken over: the model is left out "
    "(name it with --provider, --model, --base-url and --api-key-env)"
)
_ENV_FILE = "`.env` is not read: if it names the address of a server, name it with --base-url"
_SAME_ADDRESS = frozenset(
    {
        *("audio", "background", "best_of", "beta", "cost", "effort", "extra_body"),
        *("function_call", "functions", "functionToolCallbacks", "generationConfig", "include"),
        "inputCost",
        *("instructions", "keep_alive", "logit_bias", "logprobs", "maskOutput", "maxRetries"),
        *("metadata", "min_p", "modalities", "n", "num_ctx", "omitDefaults", "organization"),
        *("outputCost", "output_format", "parallel_tool_calls", "passthrough", "project"),
        *("prompt_cache_key", "prompt_cache_retention", "random_seed", "reasoning"),
        *("reasoning_effort", "repeat_last_n", "repeat_penalty", "responseSchema"),
        *("response_format", "safe_prompt", "safetySettings", "service_tier", "showThinking"),
        *("stopSequences", "stop_sequences", "store", "systemInstruction", "think", "thinking"),
        *("tool_choice", "tools", "topK", "topP", "top_k", "top_logprobs", "truncation", "user"),
        "verbosity",
    }
)
"""The settings that change a request's content or the use of its answer, and never its address."""
_ENTRY_KEYS = frozenset({"id", "config", "label"})
_ENTRY_KEYS_OF_SAME_ADDRESS = frozenset({"delay", "description", "inputs", "prompts", "transform"})
_ADDRESSES = frozenset({"apiBaseUrl", "apiHost"})
_KEYS = frozenset({"apiKey", "apiKeyEnvar", "headers"})
"""The settings with a key."""
_CHANGED_ANSWERS = (
    "its assertions would decide on what code makes of the answer: the model is left out"
)
_ADDRESS_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "openai": ("OPENAI_BASE_URL", "OPENAI_API_BASE_URL", "OPENAI_API_HOST"),
    "anthropic": ("ANTHROPIC_BASE_URL",),
    "google": ("GOOGLE_API_BASE_URL", "GOOGLE_API_HOST", "PALM_API_HOST"),
    "mistral": ("MISTRAL_API_BASE_URL", "MISTRAL_API_HOST"),
    "ollama": ("OLLAMA_BASE_URL",),
}
"""The environment variables from which promptfoo takes an address, by kind of provider."""
_URL_ENDS = {"anthropic": "/v1", "gemini": "/v1beta"}
"""The end of a `base_url` here that promptfoo adds to its own."""
_HOST = re.compile(r"[A-Za-z0-9.-]+(?::\d+)?")
_ENVIRONMENT_VARIABLE = re.compile(r"\{\{\s*env\.([A-Za-z_]\w*)\s*\}\}")


class _LeftOut(Exception):
    """A setting of a provider leaves its model out. `place` is the setting's, `str` the reason."""

    def __init__(self, place: Place, reason: str = _LEFT_OUT) -> None:
        super().__init__(reason)
        self.place = place


def read_models(configuration: DocumentNode, findings: Findings) -> Iterator[dict[str, Any]]:
    """Yield an entry for `models:` for each provider that maps; others are noted in `findings`."""
    name = "providers" if "providers" in configuration.value else "targets"
    definition = configuration.value.get(name)
    entries = (
        definition if isinstance(definition, list) else [] if definition is None else [definition]
    )
    settings = list(_environment_settings(configuration)) if entries else []
    for place in settings:
        findings.leave_out_model(place, _LEFT_OUT)
    if entries and (configuration.path.parent / ".env").is_file():
        findings.remarks.append(_ENV_FILE)
    mapped: list[tuple[DocumentNode, dict[str, Any]]] = []
    for index, entry in enumerate([] if settings else entries):
        steps: tuple[str | int, ...] = (name, index) if entries is definition else (name,)
        document = configuration.part(*steps, value=entry)
        if len(mapped) >= MAX_MODELS:
            findings.note(document.place(), f"more than {MAX_MODELS} models are not taken over")
            break
        try:
            model = _map_model(document, findings)
        except _LeftOut as error:
            findings.leave_out_model(error.place, str(error))
            continue
        if model is not None:
            mapped.append((document, model))
    yield from label_models(mapped, findings)


def read_grader(configuration: DocumentNode) -> dict[str, Any] | None:
    """The entry for the model that `defaultTest` names as the grader of answers.

    `None` without one, and if it has no counterpart or its address may be another one.
    """
    steps = ("defaultTest", "options", "provider")
    grader: Any = configuration.value
    for step in steps:
        grader = grader.get(step) if isinstance(grader, dict) else None
    is_elsewhere = any(_environment_settings(configuration))
    if grader is None or is_elsewhere or (configuration.path.parent / ".env").is_file():
        return None
    try:
        return _map_model(configuration.part(*steps, value=grader), Findings())
    except _LeftOut:
        return None


def _environment_settings(configuration: DocumentNode) -> Iterator[Place]:
    """The places where a configuration sets environment variables for all of its providers."""
    value = configuration.value
    if value.get("env"):
        yield configuration.place("env")
    options = value.get("commandLineOptions")
    for key in options if isinstance(options, dict) else ():
        if "env" in str(key).lower():
            yield configuration.place("commandLineOptions", str(key))


def _map_model(document: DocumentNode, findings: Findings) -> dict[str, Any] | None:
    """The entry for a provider; `None`, noted in `findings`, if it has no counterpart.

    Raises `_LeftOut` if a setting may change the address that the provider asks, or its answers.
    """
    entry, config, config_steps = _split_entry(document, findings)
    if not isinstance(entry, str):
        findings.leave_out_model(document.place(), "the provider is no name")
        return None
    kind, *rest = entry.split(":")
    provider, ways = _PROVIDERS.get(kind, (None, frozenset()))
    if kind == "openai" and rest[:1] == ["responses"]:
        provider, rest = "openai-responses", rest[1:]
    elif len(rest) > 1 and rest[0] in ways:
        rest = rest[1:]
    if provider is None or not rest or (len(rest) > 1 and kind != "ollama") or "{" in entry:
        reason = "the provider has no counterpart here: name a model"
        findings.leave_out_model(document.place(), reason)
        return None
    _require_address_of_settings(kind, config, document.place())
    model: dict[str, Any] = {"provider": provider, "model": ":".join(rest)}
    if provider in _SERVERS:
        model["base_url"] = _SERVERS[provider]
    model |= {"max_tokens": _DEFAULT_TOKENS, "temperature": 0.0}
    if provider in ("openai", "openai-responses") and _REASONING.match(model["model"]):
        model["max_tokens"] = _REASONING_TOKENS
        model["options"] = {"leave_out": ["temperature"]}
        if provider == "openai":
            model["options"]["max_tokens_as"] = "max_completion_tokens"
    elif provider == "anthropic" and _LATER_CLAUDE.match(model["model"]):
        model["options"] = {"leave_out": ["temperature"]}
    for key, value in config.items():
        _configure(model, str(key), value, document.place(*config_steps, str(key)), findings)
    if "apiKey" in config and not _ADDRESSES.isdisjoint(config):
        model.setdefault("api_key_env", None)  # no vendor's key for a server that has its own
    return model


def _split_entry(
    document: DocumentNode, findings: Findings
) -> tuple[Any, Mapping[str, Any], tuple[str, ...]]:
    """The name of a provider, its settings without empty ones, and the keys that lead to these.

    Raises `_LeftOut` for settings that are not read, and for code that changes answers.
    """
    entry = document.value
    if not isinstance(entry, dict):
        return entry, {}, ()
    steps: tuple[str, ...] = ()
    name = entry.get("id")
    if "id" not in entry and len(entry) == 1:
        [(name, entry)] = entry.items()
        steps = (str(name),)
        if entry is not None and not isinstance(entry, dict):
            raise _LeftOut(document.place(*steps))
    for key in [key for key in entry or {} if key not in _ENTRY_KEYS]:
        place = document.place(*steps, str(key))
        if key == "transform" and entry[key] is not None:
            raise _LeftOut(place, _CHANGED_ANSWERS)
        if key not in _ENTRY_KEYS_OF_SAME_ADDRESS:
            raise _LeftOut(place)
        findings.note(place, "the key of a provider is not taken over")
    steps = (*steps, "config")
    config = (entry or {}).get("config")
    if config is not None and not isinstance(config, dict):
        raise _LeftOut(document.place(*steps))
    settings = {key: value for key, value in (config or {}).items() if value is not None}
    if "apiHost" in settings:  # promptfoo prefers it
        settings.pop("apiBaseUrl", None)
    return name, settings, steps


def _require_address_of_settings(kind: str, settings: Mapping[str, Any], place: Place) -> None:
    """Raise `_LeftOut` if promptfoo takes the address from an environment variable.

    It does unless a setting has the address; a variable for a host also overrides `apiBaseUrl`.
    """
    for variable in _ADDRESS_VARIABLES.get(kind, ()):
        overrides = {"apiHost"} if variable.endswith("_HOST") else _ADDRESSES
        if os.environ.get(variable) and overrides.isdisjoint(settings):
            raise _LeftOut(place._replace(field=f"${variable}"))


def _configure(
    model: dict[str, Any], key: str, value: Any, place: Place, findings: Findings
) -> None:
    """Put a setting of a provider into the entry `model`, or note that it is dropped.

    Raises `_LeftOut` if it may change the address, and cannot be put there. promptfoo reads no
    setting with a key for Ollama: here the key would be sent.
    """
    if key in _KEYS and model["provider"] == "ollama":
        raise _LeftOut(place)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if key in _RENAMED_PARAMETERS and is_number:
        model[_RENAMED_PARAMETERS[key]] = value
    elif key == "seed" and isinstance(value, int):
        model["seed"] = value
    elif key in _PARAMETERS:
        model.setdefault("parameters", {})[key] = value
    elif key in _ADDRESSES:
        model["base_url"] = _address(model["provider"], key, value, place)
    elif key == "headers":
        model["headers"] = _headers(value, place)
    elif key in ("apiKeyEnvar", "apiKey") and (variable := _key_variable(key, value)):
        model["api_key_env"] = variable
    elif key == "apiKey":
        findings.note(place, _SECRET)
    elif key in _SAME_ADDRESS or key in _RENAMED_PARAMETERS or key == "seed":
        findings.note(place, _NOT_TAKEN_OVER)
    else:
        raise _LeftOut(place)


def _address(provider: str, key: str, value: Any, place: Place) -> str:
    """The `base_url` of an address as promptfoo reads it.

    Raises `_LeftOut` for a template, and if promptfoo's provider reads no such setting (that
    of Ollama reads none) or reads a host otherwise.
    """
    if key == "apiHost":
        openai_like = provider in ("openai", "openai-responses", "mistral")
        if not openai_like or not isinstance(value, str) or not _HOST.fullmatch(value):
            raise _LeftOut(place)
        return f"https://{value}/v1"
    if provider == "ollama" or not isinstance(value, str) or "{" in value:
        raise _LeftOut(place)
    end = _URL_ENDS.get(provider, "")
    return value if value.rstrip("/").endswith(end) else value.rstrip("/") + end


def _headers(value: Any, place: Place) -> dict[str, str]:
    """The headers whose values are environment variables, as `headers` of an entry.

    Raises `_LeftOut` if one has another value.
    """
    variables = {
        str(name): _ENVIRONMENT_VARIABLE.fullmatch(text.strip()) if isinstance(text, str) else None
        for name, text in (value.items() if isinstance(value, dict) else [("", None)])
    }
    if not all(variables.values()):
        raise _LeftOut(place)
    return {name: match[1] for name, match in variables.items() if match}


def _key_variable(key: str, value: Any) -> str | None:
    """The environment variable that a setting names for the key; `None` for the key itself."""
    if not isinstance(value, str):
        return None
    if key == "apiKeyEnvar":
        return value
    match = _ENVIRONMENT_VARIABLE.fullmatch(value.strip())
    return match[1] if match else None
