"""`python -m tests.chaos --storms 200` runs so many storms; `--seed N --storms 1` runs that one."""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.grounds import Grounds
from tests.chaos.plan import Plan
from tests.chaos.storm import Storm

AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class Result:
    """How one storm went."""

    plan: Plan
    seconds: float
    wrong: list[str]
    told: list[str]


def storms(seeds: Iterable[int], grounds: Grounds, at_once: int = AT_ONCE) -> Iterator[Result]:
    """Run the storms of these seeds, so many at once, and tell of each when it is over."""
    pool = ThreadPoolExecutor(at_once)
    try:
        running: list[Future[Result]] = [pool.submit(_one, seed, grounds) for seed in seeds]
        for each in as_completed(running):
            yield each.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _one(seed: int, grounds: Grounds) -> Result:
    plan, began = Plan.draw(seed), time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="failproof-es-storm-"))
    storm = Storm(plan, grounds, folder)
    try:
        wrong = storm.run()
    except Exception:
        wrong = [traceback.format_exc()]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Result(plan, time.monotonic() - began, wrong, storm.told)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--storms", type=int, required=True, help="run so many")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first one")
    parser.add_argument("--at-once", type=int, default=AT_ONCE)
    parser.add_argument("--verbose", action="store_true", help="tell all that happens")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # and leave no server behind
    began, failed = time.monotonic(), 0
    with Grounds() as grounds:
        if grounds.no_small_disk is not None:
            print(f"NO DISK IS FILLED: {grounds.no_small_disk}")
        seeds = range(given.seed, given.seed + given.storms)
        for number, result in enumerate(storms(seeds, grounds, given.at_once), 1):
            print(f"{number} storms: seed {result.plan.seed} took {result.seconds:.1f} s")
            if result.wrong or given.verbose:
                print(result.plan, *result.told, sep="\n")
            if result.wrong:
                failed += 1
                print(*(f"VIOLATION: {each}" for each in result.wrong), sep="\n")
                print(f"  python -m tests.chaos --storms 1 --seed {result.plan.seed}", flush=True)
    print(f"{given.storms} storms, {failed} broken, {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
