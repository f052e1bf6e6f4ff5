"""Every benchmark that `make benchmarks` runs, in the order of the table."""

from __future__ import annotations

from tests.benchmarks.reach import large, live, log, replies, shell, starting, whole

BENCHMARKS = (
    *whole.BENCHMARKS,
    *large.BENCHMARKS,
    *live.BENCHMARKS,
    *log.BENCHMARKS,
    *starting.BENCHMARKS,
    *replies.BENCHMARKS,
    *shell.BENCHMARKS,
)
