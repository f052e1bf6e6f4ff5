"""Is a command safe? `safe(command)` judges it by the policy in docs/command-safety.md."""

from failproof_es.dialects.command.safety.judge import safe
from failproof_es.dialects.command.safety.verdict import ReasonCode, SafetyReason, SafetyVerdict

__all__ = ["ReasonCode", "SafetyReason", "SafetyVerdict", "safe"]
