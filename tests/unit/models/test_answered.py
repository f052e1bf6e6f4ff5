"""An answer counts when nothing in the name that gave it says that it is another model."""

from __future__ import annotations

import pytest

from failproof_es.models.catalog.listing import is_listed
from failproof_es.models.protocol import ModelError
from failproof_es.models.replies.model_name_check import (
    VersionCheck,
    is_requested_model,
    require_model,
)
from tests.every import every


@every(
    ("asked", "answered"),
    [
        ("gpt-4o", None),
        ("gpt-4o", "gpt-4o"),
        ("gpt-4o", "gpt-4o-2024-08-06"),
        ("gpt-4", "gpt-4-0613"),
        ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929"),
        ("claude-sonnet-4-5", "claude-sonnet-4-5@20250929"),
        ("gemini-1.5-pro", "gemini-1.5-pro-002"),
        ("llama3.2", "llama3.2:latest"),
        ("anthropic/claude-opus-4.6", "anthropic/claude-4.6-opus-20260205"),
        ("anthropic/claude-sonnet-4", "anthropic/claude-4-sonnet-20250522"),
        ("openai/gpt-5", "openai/gpt-5-2025-08-07"),
        ("x-ai/grok-4.6:nitro", "x-ai/grok-4.6"),
        ("x-ai/grok-4.6:nitro", "x-ai/grok-4.6:nitro"),
        ("anthropic/claude-opus-4.6:floor", "anthropic/claude-4.6-opus-20260205"),
    ],
)
def test_is_the_model_that_was_asked(asked: str, answered: str | None) -> None:
    assert is_requested_model(asked, None, answered)
    require_model(asked, None, answered)


@every(
    ("asked", "version", "answered"),
    [
        ("gpt-4o", "2024-08-06", "gpt-4o-2024-08-06"),
        ("gpt-4o", "20240806", "gpt-4o-2024-08-06"),
        ("claude-sonnet-4-5", "2025-09-29", "claude-sonnet-4-5-20250929"),
        ("claude-sonnet-4-5", "20250929", "claude-sonnet-4-5@20250929"),
        ("gpt-4o", "gpt-4o-2024-08-06", "gpt-4o-2024-08-06"),  # the exact version string
        ("claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022", "claude-3-5-sonnet-20241022"),
        ("gpt-4o-2024-08-06", "2024-08-06", "gpt-4o-2024-08-06"),  # asked for by that name
        ("gpt-4o-2024-08-06", "20240806", "gpt-4o-2024-08-06"),
        ("gpt-4", "0613", "gpt-4-0613"),
        ("mistral", "v2", "mistral-v2"),
        ("llama3.2", "1b", "llama3.2:1b"),
        ("a/claude-opus-4.6", "a/claude-4.6-opus-20260205", "a/claude-4.6-opus-20260205"),
        ("a/claude-opus-4.6", "2026-02-05", "a/claude-4.6-opus-20260205"),
    ],
)
def test_a_version_that_is_named_is_shown(asked: str, version: str, answered: str) -> None:
    for check in ("version", "name"):
        require_model(asked, version, answered, check)


@every(
    ("asked", "version", "answered"),
    [
        ("gpt-4o", "2024-08-06", None),
        ("gpt-4o", "2024-08-06", "gpt-4o"),
        ("claude-sonnet-4.5", "2024-10-22", "claude-sonnet-4.5"),
    ],
)
def test_an_answer_that_shows_no_version_is_another_model_unless_its_name_is_enough(
    asked: str, version: str, answered: str | None
) -> None:
    with pytest.raises(ModelError, match="version_check: name") as raised:
        require_model(asked, version, answered)
    assert (raised.value.kind, raised.value.disposition) == ("model_mismatch", "final")
    require_model(asked, version, answered, "name")


@every(
    ("asked", "version", "answered"),
    [
        ("gpt-4o", None, "gpt-4o-mini"),
        ("gpt-4o", None, "gpt-4o-mini-2024-07-18"),
        ("gpt-4o", None, "gpt-4"),
        ("gpt-4o", None, "GPT-4o"),
        ("gpt-4o", None, "openai/gpt-4o"),
        ("gpt-4o", None, "gpt-4o2024-08-06"),
        ("gpt-4o", None, "gpt-4o-2024-13-06"),
        ("gpt-4o", None, "gpt-4o-8192"),
        ("gpt-4o", None, "gpt-4o-latest"),
        ("gpt-4o-2024-08-06", None, "gpt-4o"),
        ("gpt-4o-2024-08-06", None, "gpt-4o-2024-05-13"),
        ("gpt-4o", "2024-08-06", "gpt-4o-2024-05-13"),
        ("gpt-4o", "2024-08-06", "gpt-4o-mini-2024-08-06"),
        ("gpt-4o", "2024-08-06", "gpt-4o-0806"),
        ("gpt-4o", "2024-08-06", "gpt-4o-2024-08-06-preview"),
        ("gpt-4o", "2024-08-06", "gpt-4o-2024-08"),
        ("gpt-4o", "2024-08-06", "gpt-4o:latest"),
        ("gpt-4o", "2024-08-06", "2024-08-06"),
        ("gpt-4o", "gpt-4", "gpt-4"),
        ("mistral", "1-2", "mistral-12"),
        ("mistral", "v2", "mistralv2"),
        ("mistral", "v2", "mistral/v2"),
        ("mistral", "v2", "mistral-V2"),
        ("gpt-4o", None, "gpt-4x-2024-08-06"),
        ("a/claude-opus-4.6", None, "a/claude-4.6-opus"),
        ("a/claude-opus-4.6", None, "b/claude-4.6-opus-20260205"),
        ("a/claude-opus-4.6", None, "a/claude-4.5-opus-20260205"),
        ("a/claude-opus-4.6", None, "a/claude-4.6-opus-fast-20260205"),
        ("a/claude-opus-4.6", "20260205", "a/claude-4.6-opus-20260206"),
        ("a/claude-opus-4.6", "a/claude-4.6-opus-20260205", "a/claude-4.6-opus-20260206"),
        ("a/qwen-2-5", None, "a/qwen-5-2-20260205"),
        ("a/tiny-max-2", None, "a/max-tiny-2-20260205"),
        ("claude-opus-4.6", None, "claude-4.6-opus-20260205"),
        ("a/m:free", None, "a/m"),
        ("a/m", None, "a/m:free"),
        ("gpt-4o", "2024-08-06", "gpt-4x-2024-08-06"),
    ],
)
@every("check", ["version", "name"])
def test_is_another_model(
    asked: str, version: str | None, answered: str, check: VersionCheck
) -> None:
    with pytest.raises(ModelError, match="was asked and") as raised:
        require_model(asked, version, answered, check)
    assert (raised.value.kind, raised.value.disposition) == ("model_mismatch", "final")


def test_a_route_is_not_looked_for_in_a_list_of_models() -> None:
    names = ["x-ai/grok-4.6", "llama3.2:latest"]
    assert is_listed("x-ai/grok-4.6:nitro", names) and is_listed("llama3.2", names)
    assert not is_listed("x-ai/grok-4.6:free", names)


def test_the_version_that_was_asked_for_is_said() -> None:
    with pytest.raises(ModelError, match=r"^gpt-4o, version 2024-08-06, was asked and gpt-4o-mini"):
        require_model("gpt-4o", "2024-08-06", "gpt-4o-mini")
    with pytest.raises(ModelError, match=r"^gpt-4o was asked and gpt-4o-mini answered"):
        require_model("gpt-4o", None, "gpt-4o-mini")
    with pytest.raises(ModelError, match="was asked and the answer names no model"):
        require_model("gpt-4o", "2024-08-06", None)
