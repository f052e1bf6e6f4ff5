"""Accuracy and throughput of the three checkers of shell commands.

    python -m tests.benchmarks.commands FOLDER [--misses]

FOLDER holds what of these is there: `equivalence_cases.jsonl` (`a`, `b`, `equivalent`),
`posix_cases.jsonl` (`cmd`, `posix`, `posix_2024`) and `safety_cases.jsonl` (`cmd`, `safe`) with
labels by people, and `*.txt` with a command a line for throughput. Compare ratios, not
seconds: the machine may be busy with something else.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

from failproof_es.shell_analysis.equivalence import Verdict, compare_many
from failproof_es.shell_analysis.posix import check_posix_many
from failproof_es.shell_analysis.safety import SafetyVerdict, judge_safety

Case = dict[str, Any]


def cases(path: Path) -> list[Case]:
    """The labelled cases of a file, none where it is not there.

    Cases that people could not agree on (a label of null) are left out.
    """
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    found: list[Case] = [json.loads(line) for line in lines if line]
    return [case for case in found if None not in case.values()]


def safe_many(commands: Sequence[str]) -> list[SafetyVerdict]:
    """`safe` for each command on as many threads as there are cores."""
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(judge_safety, commands))


def accuracy(
    title: str, labelled: Sequence[Case], label: str, said: Sequence[bool], *, misses: bool
) -> None:
    """Print how often label and checker agree, and where they don't."""
    if not labelled:
        return
    seen = Counter((bool(case[label]), each) for case, each in zip(labelled, said, strict=True))
    right = seen[True, True] + seen[False, False]
    print(
        f"{title:<14}{right / len(labelled):.3f} of {len(labelled)}: "
        f"{seen[True, True]} of {seen[True, True] + seen[True, False]} {label}, "
        f"{seen[False, False]} of {seen[False, False] + seen[False, True]} not {label}"
    )
    for case, each in zip(labelled, said, strict=True):
        if misses and bool(case[label]) != each:
            print(f"    {json.dumps(case, ensure_ascii=False)}")


def throughput(title: str, count: int, check: Callable[[], Counter[str]]) -> None:
    """Print how many commands a second a checker judges, and what it said."""
    began = time.perf_counter()
    said = check()
    seconds = time.perf_counter() - began
    verdicts = ", ".join(f"{number} {verdict}" for verdict, number in sorted(said.items()))
    print(f"{title:<14}{count / seconds:,.0f} a second ({count} in {seconds:.1f} s): {verdicts}")


def measure_accuracy(folder: Path, *, misses: bool) -> None:
    pairs = cases(folder / "equivalence_cases.jsonl")
    verdicts = compare_many((case["a"], case["b"]) for case in pairs)
    equal = [each.verdict is Verdict.EQUAL for each in verdicts]
    accuracy("equivalence", pairs, "equivalent", equal, misses=misses)
    for edition, label in (("2017", "posix"), ("2024", "posix_2024")):
        labelled = cases(folder / "posix_cases.jsonl")
        commands = [case["cmd"] for case in labelled]
        found = check_posix_many(commands, "2017" if edition == "2017" else "2024")
        compliant = [each.compliant for each in found]
        accuracy(f"posix {edition}", labelled, label, compliant, misses=misses)
    labelled = cases(folder / "safety_cases.jsonl")
    judged = [each.safe for each in safe_many([case["cmd"] for case in labelled])]
    accuracy("safety", labelled, "safe", judged, misses=misses)


def measure_throughput(path: Path) -> None:
    commands = [line for line in path.read_text(encoding="utf-8").splitlines() if line]
    print(f"{path.name}: {len(commands)} commands, {os.cpu_count()} cores")
    chain = [*pairwise(commands), (commands[-1], commands[0])]
    count = len(commands)
    throughput("equivalence", count, lambda: Counter(str(e.verdict) for e in compare_many(chain)))
    throughput(
        "posix", count,
        lambda: Counter("compliant" if e.compliant else "not" for e in check_posix_many(commands)),
    )  # fmt: skip
    throughput(
        "safety", count, lambda: Counter("safe" if e.safe else "not" for e in safe_many(commands))
    )


def main() -> None:
    """Print a line a checker: first agreement with the labels, then speed."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--misses", action="store_true")
    options = arguments.parse_args()
    measure_accuracy(options.folder, misses=options.misses)
    for path in sorted(options.folder.glob("*.txt")):
        measure_throughput(path)


if __name__ == "__main__":
    main()
