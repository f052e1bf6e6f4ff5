"""The red-team dialect: scripted conversations, graded by checks and judges (specification 002)."""

from failproof_es.dialects.shipped.redteam.dialect import RedTeam

__all__ = ["RedTeam"]
