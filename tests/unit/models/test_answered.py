"""An answer counts when nothing in the name that gave it says that it is another model."""

from __future__ import annotations

import pytest

from failproof_es.models.answered import is_asked_model, require_model
from failproof_es.models.protocol import ModelError


@pytest.mark.parametrize(
    ("asked", "version", "answered"),
    [
        ("gpt-4o", None, None),
        ("gpt-4o", "2024-08-06", None),
        ("gpt-4o", None, "gpt-4o"),
        ("claude-sonnet-4.5", "2024-10-22", "claude-sonnet-4.5"),
        ("gpt-4o", None, "gpt-4o-2024-08-06"),
        ("gpt-4", None, "gpt-4-0613"),
        ("claude-sonnet-4-5", None, "claude-sonnet-4-5-20250929"),
        ("claude-sonnet-4-5", None, "claude-sonnet-4-5@20250929"),
        ("gemini-1.5-pro", None, "gemini-1.5-pro-002"),
        ("llama3.2", None, "llama3.2:latest"),
        ("gpt-4o", "2024-08-06", "gpt-4o-2024-08-06"),
        ("claude-sonnet-4-5", "2025-09-29", "claude-sonnet-4-5-20250929"),
        ("gpt-4o-2024-08-06", "2024-08-06", "gpt-4o-2024-08-06"),
        ("mistral", "v2", "mistral-v2"),
    ],
)
def test_is_the_model_that_was_asked(asked: str, version: str | None, answered: str | None) -> None:
    assert is_asked_model(asked, version, answered)
    require_model(asked, version, answered)


@pytest.mark.parametrize(
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
        ("gpt-4o", "2024-08-06", "gpt-4o-0806"),
        ("gpt-4o", "2024-08-06", "gpt-4o:latest"),
        ("mistral", "v2", "mistralv2"),
        ("mistral", "v2", "mistral/v2"),
        ("gpt-4o", None, "gpt-4x-2024-08-06"),
        ("gpt-4o", "2024-08-06", "gpt-4x-2024-08-06"),
    ],
)
def test_is_another_model(asked: str, version: str | None, answered: str) -> None:
    assert not is_asked_model(asked, version, answered)
    with pytest.raises(ModelError, match="was asked and") as raised:
        require_model(asked, version, answered)
    assert (raised.value.kind, raised.value.disposition) == ("model_mismatch", "final")


def test_the_version_that_was_asked_for_is_said() -> None:
    with pytest.raises(ModelError, match=r"^gpt-4o, version 2024-08-06, was asked and gpt-4o-mini"):
        require_model("gpt-4o", "2024-08-06", "gpt-4o-mini")
    with pytest.raises(ModelError, match=r"^gpt-4o was asked and gpt-4o-mini answered"):
        require_model("gpt-4o", None, "gpt-4o-mini")
