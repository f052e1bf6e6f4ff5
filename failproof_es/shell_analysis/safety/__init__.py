"""Checks whether a command is safe: `judge_safety` decides.

The policy is in docs/reference/command-safety.md."""

from failproof_es.shell_analysis.safety.judge import judge_safety, judge_safety_many
from failproof_es.shell_analysis.safety.verdict import ReasonCode, SafetyReason, SafetyVerdict

__all__ = ["ReasonCode", "SafetyReason", "SafetyVerdict", "judge_safety", "judge_safety_many"]
