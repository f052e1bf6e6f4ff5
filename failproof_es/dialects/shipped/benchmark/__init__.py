"""Questions with graded expectations, answered by a model and scored by a judge (spec 003)."""

from failproof_es.dialects.shipped.benchmark.dialect import Benchmark

__all__ = ["Benchmark"]
