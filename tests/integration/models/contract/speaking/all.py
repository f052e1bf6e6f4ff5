"""Every provider over HTTP, in the order in which they are tested."""

from __future__ import annotations

from tests.integration.models.contract.speaking import (
    anthropic,
    azure,
    bedrock,
    gemini,
    mistral,
    ollama,
    openai,
    openai_responses,
    openrouter,
    vertex,
)

SPOKEN = (
    *(openai.SPEAKS, openai_responses.SPEAKS, azure.SPEAKS, mistral.SPEAKS, openrouter.SPEAKS),
    *(anthropic.SPEAKS, bedrock.SPEAKS, gemini.SPEAKS, vertex.SPEAKS, ollama.SPEAKS),
)
