"""Conversations with deterministic checks of the reply: what imported runs are graded by."""

from failproof_es.dialects.shipped.checks.dialect import Checks

__all__ = ["Checks"]
