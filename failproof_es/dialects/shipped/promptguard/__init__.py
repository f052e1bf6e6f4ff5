"""The PromptGuard dialect: models judge stored prompts by T, I and F (specification 001)."""

from failproof_es.dialects.shipped.promptguard.dialect import PromptGuard

__all__ = ["PromptGuard"]
