"""The dialect of probes: judges are the models under test, and their questions are the cases."""

from failproof_es.dialects.judge_probe.dialect import JudgeProbe

__all__ = ["JudgeProbe"]
