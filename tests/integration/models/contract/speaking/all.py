"""Every provider over HTTP, in the order in which they are tested."""

from __future__ import annotations

from tests.integration.models.contract.speaking import anthropic, ollama, openai

SPOKEN = (openai.SPEAKS, anthropic.SPEAKS, ollama.SPEAKS)
