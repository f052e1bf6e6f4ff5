"""Every provider over HTTP, in the order in which they are tested."""

from __future__ import annotations

from tests.integration.models.contract.speaking import (
    anthropic,
    gemini,
    ollama,
    openai,
    openai_responses,
)

SPOKEN = (openai.SPEAKS, openai_responses.SPEAKS, anthropic.SPEAKS, gemini.SPEAKS, ollama.SPEAKS)
