"""`python -m tests.simulation --seed N` shows one history; `--histories N` runs many."""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed

from tests.simulation.invariants import violations
from tests.simulation.many import broken_in, history_of

_BLOCK = 200


def _show(seed: int) -> int:
    history = history_of(seed)
    history.run()
    print("\n".join(history.trace))
    print(f"shape: {history.shape}")
    print(f"fingerprint: {history.fingerprint()}")
    wrong = violations(history)
    print("\n".join(f"VIOLATION: {each}" for each in wrong) or "every invariant holds")
    return 1 if wrong else 0


def _run_many(first: int, count: int, processes: int) -> int:
    began, failed, done = time.monotonic(), 0, 0
    # To look through all that is imported takes longer than a history.
    with ProcessPoolExecutor(processes, initializer=gc.freeze) as pool:
        last = first + count
        blocks = [
            pool.submit(broken_in, range(block, min(block + _BLOCK, last)))
            for block in range(first, last, _BLOCK)
        ]
        for block in as_completed(blocks):
            found = block.result()
            done += 1
            failed += len(found)
            for seed, wrong in sorted(found.items()):
                print(f"seed {seed}: {wrong[0]}")
                print(f"  python -m tests.simulation --seed {seed}")
            if done % 50 == 0:
                print(f"{min(done * _BLOCK, count)} of {count} histories", file=sys.stderr)
    print(f"{count} histories, {failed} broken, {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--seed", type=int, help="run this history and print all that happens")
    which.add_argument("--histories", type=int, help="run so many")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first one")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    given = parser.parse_args()
    if given.seed is not None:
        return _show(given.seed)
    return _run_many(given.first, given.histories, given.processes)


if __name__ == "__main__":
    raise SystemExit(main())
