"""Throughput and accuracy of the three checkers of shell commands.

    python -m tests.benchmarks.commands [FOLDER] [--commands N] [--rounds N] [--misses]

Prints a row for each checker, and one for the threads of a run: processor time a command, of this
process and of all that it started, and commands a second. The baseline is measured in turn with
it: a parser process for each command. Compare processor time: a busy machine changes it
least.

Without FOLDER the commands are made up here, no two the same. FOLDER holds what of these is
there: `equivalence_cases.jsonl` (`a`, `b`, `equivalent`), `posix_cases.jsonl` (`cmd`, `posix`,
`posix_2024`) and `safety_cases.jsonl` (`cmd`, `safe`) with labels by people, and `*.txt` with a
command a line for throughput.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

from failproof_es.shell_analysis import (
    EquivalenceVerdict,
    check_posix,
    check_posix_many,
    compare,
    compare_many,
    judge_safety,
    judge_safety_many,
)
from failproof_es.shell_analysis.equivalence.comparison import normal_form
from failproof_es.shell_analysis.parse import batching, programs, shell, shfmt
from failproof_es.shell_analysis.posix import shellcheck
from failproof_es.support.bounded.child import THREADS

Baseline = Callable[[], AbstractContextManager[None]]
Case = dict[str, Any]

TEMPLATES = r"""
ls -la /srv/data/@ | sort -k 5 -n | tail -n 20
find /var/log -name '*.@.log' -mtime +7 -exec gzip {} \;
grep -rn "error @" src --include='*.py' | wc -l
tar -czf backup-@.tar.gz ./project-@
du -sh ./cache/@/* | sort -h
awk -F: '$3 > 1000 { print $1, "@" }' /etc/passwd
sed -i 's/version = @/version = 2/' setup.cfg
ps aux | grep worker-@ | awk '{ print $2 }' | xargs kill -TERM
curl -sS "https://example.org/items/@" -o item-@.json
for f in *.@.txt; do mv "$f" "${f%.txt}.md"; done
find . -type f -name "*.@" -print0 | xargs -0 chmod 644
cut -d, -f1,3 report-@.csv | sort | uniq -c | sort -rn | head
if [ -f "config.@" ]; then cp "config.@" /tmp; else echo missing; fi
rsync -av --delete ./site-@/ host:/srv/www/
docker ps -a --filter "name=job-@" --format '{{.Names}}'
git log --since="@ days ago" --oneline -- docs
mkdir -p build/@ && cd build/@ && cmake ../.. && make
echo "total: $(wc -l < list-@.txt)"
while read -r line; do echo "@ $line"; done < hosts
diff <(sort a-@.txt) <(sort b-@.txt)
"""
"""`@` stands for what is different each time."""


def cases(path: Path) -> list[Case]:
    """The labelled cases of a file, none where it is not there.

    Cases that people could not agree on (a label of null) are left out.
    """
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    found: list[Case] = [json.loads(line) for line in lines if line]
    return [case for case in found if None not in case.values()]


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


def measure_accuracy(folder: Path, *, misses: bool) -> None:
    pairs = cases(folder / "equivalence_cases.jsonl")
    verdicts = compare_many((case["a"], case["b"]) for case in pairs)
    equal = [each.verdict is EquivalenceVerdict.EQUAL for each in verdicts]
    accuracy("equivalence", pairs, "equivalent", equal, misses=misses)
    for edition, label in (("2017", "posix"), ("2024", "posix_2024")):
        labelled = cases(folder / "posix_cases.jsonl")
        commands = [case["cmd"] for case in labelled]
        found = check_posix_many(commands, "2017" if edition == "2017" else "2024")
        compliant = [each.compliant for each in found]
        accuracy(f"posix {edition}", labelled, label, compliant, misses=misses)
    labelled = cases(folder / "safety_cases.jsonl")
    judged = [each.safe for each in judge_safety_many([case["cmd"] for case in labelled])]
    accuracy("safety", labelled, "safe", judged, misses=misses)


@dataclass(frozen=True, slots=True)
class Cost:
    """What judging commands took."""

    processor_ms: float
    """A command, of all processes."""
    per_second: float


def made_up(count: int) -> list[str]:
    """Commands as people write them, no two the same; one in twenty is no POSIX shell."""
    forms = TEMPLATES.strip().splitlines()
    return [forms[at % len(forms)].replace("@", f"{at:x}") for at in range(count)]


def processor_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def cost(check: Callable[[], object], count: int) -> Cost:
    """What one call costs that judges so many commands, with nothing remembered."""
    for reader in shell._READERS.values():
        reader.forget()
    shellcheck._READER.forget()
    normal_form.cache_clear()
    began, processor = time.perf_counter(), processor_seconds()
    check()
    seconds, spent = time.perf_counter() - began, processor_seconds() - processor
    return Cost(spent / count * 1000, count / seconds)


@contextmanager
def a_process_for_each() -> Iterator[None]:
    """As it was: `shfmt` starts for each command, and in a run `shellcheck`, too."""
    with (
        patch.object(shfmt, "_may_share", lambda *_: False),
        patch.object(batching, "_WORTH_A_PROCESS", 1),
    ):
        yield


@contextmanager
def nothing_shared() -> Iterator[None]:
    with a_process_for_each(), patch.object(batching, "MOST", 1):
        yield


def as_in_a_run(commands: Sequence[str]) -> None:
    """All checkers, one command after the other in each of the threads that a run has."""

    def judge(at: int) -> None:
        compare(commands[at - 1], commands[at])
        judge_safety(commands[at])
        check_posix(commands[at])

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(judge, range(len(commands))))


def measure_throughput(title: str, commands: Sequence[str], rounds: int) -> None:
    """Print a row for each way of judging these commands, against its baseline."""
    chain = [*pairwise(commands), (commands[-1], commands[0])]
    rows: list[tuple[str, str, Callable[[], object], Baseline]] = [
        ("posix", "<= 2 ms", lambda: check_posix_many(commands), a_process_for_each),
        ("safety", "-", lambda: judge_safety_many(commands), a_process_for_each),
        ("equivalence", "-", lambda: compare_many(chain), a_process_for_each),
        ("all three, in a run", "-", lambda: as_in_a_run(commands), nothing_shared),
    ]
    print(f"{title}: {len(commands)} commands, {os.cpu_count()} cores, {rounds} rounds in turn")
    print(f"{'':<21}{'wanted':<9}{'ms of processor time a command':<38}a second")
    for name, wanted, check, baseline in rows:
        found, before = [], []
        for _ in range(rounds):
            with baseline():
                before.append(cost(check, len(commands)))
            found.append(cost(check, len(commands)))
        ms, ms_before = ([each.processor_ms for each in costs] for costs in (found, before))
        rate, rate_before = (median(e.per_second for e in costs) for costs in (found, before))
        print(
            f"{name:<21}{wanted:<9}{median(ms):.2f} ({min(ms):.2f}-{max(ms):.2f}), "
            f"was {median(ms_before):.2f}: {median(ms) / median(ms_before):.2f}   "
            f"{rate:,.0f}, was {rate_before:,.0f}"
        )


def main() -> None:
    """Print agreement with the labels, then a row for each checker."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder", type=Path, nargs="?")
    arguments.add_argument("--commands", type=int, default=500, metavar="N")
    arguments.add_argument("--rounds", type=int, default=3, metavar="N")
    arguments.add_argument("--misses", action="store_true")
    options = arguments.parse_args()
    programs.version("shfmt"), programs.version("shellcheck")
    if options.folder is None:
        measure_throughput("made up", made_up(options.commands), options.rounds)
        return
    measure_accuracy(options.folder, misses=options.misses)
    for path in sorted(options.folder.glob("*.txt")):
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line]
        measure_throughput(path.name, lines[: options.commands], options.rounds)


if __name__ == "__main__":
    main()
