"""Every benchmark that `make benchmarks` runs, in the order of the table.

What needs files of its own stands beside them: `commands` and `refusal_detection` measure accuracy
on labelled data.
"""

from __future__ import annotations

from tests.benchmarks import append, ledger, ledger_hashing, peers, reading
from tests.benchmarks.console import pages, viewers
from tests.benchmarks.reach import (
    follow,
    large,
    live,
    log,
    parts,
    replies,
    sending,
    shell,
    starting,
    whole,
    workers,
)

BENCHMARKS = (
    *whole.BENCHMARKS,
    *workers.BENCHMARKS,
    *large.BENCHMARKS,
    *live.BENCHMARKS,
    *log.BENCHMARKS,
    *starting.BENCHMARKS,
    *replies.BENCHMARKS,
    *shell.BENCHMARKS,
    *sending.BENCHMARKS,
    *parts.BENCHMARKS,
    *append.BENCHMARKS,
    *follow.BENCHMARKS,
    *ledger.BENCHMARKS,
    *ledger_hashing.BENCHMARKS,
    *reading.BENCHMARKS,
    *peers.BENCHMARKS,
    *pages.BENCHMARKS,
    *viewers.BENCHMARKS,
)
