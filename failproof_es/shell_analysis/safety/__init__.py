"""Is a command safe? `judge_safety` judges it by the policy in docs/reference/command-safety.md."""

from failproof_es.shell_analysis.safety.judge import judge_safety
from failproof_es.shell_analysis.safety.verdict import ReasonCode, SafetyReason, SafetyVerdict

__all__ = ["ReasonCode", "SafetyReason", "SafetyVerdict", "judge_safety"]
