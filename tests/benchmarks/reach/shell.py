"""How many shell commands a second the three checkers judge."""

from __future__ import annotations

import contextlib
import json
import subprocess
import tomllib
from collections.abc import Iterator
from itertools import count, islice

from tests.benchmarks.measured import Benchmark, Measure, Measurement, Row, Sizes, TargetFigure
from tests.benchmarks.reach.bare import ROOT

_HOW = (
    "500 different commands: those of the shipped suites, each made different by a number. In a "
    "process that has imported the checkers; processor time includes the parsers' processes."
)
ROWS = (
    Row(
        "shell-posix",
        "checking shell commands (posix)",
        "commands/s",
        _HOW,
        TargetFigure(">=", 1_000),
    ),
    Row("shell-equivalence", "checking pairs of shell commands (equivalence)", "pairs/s", _HOW),
    Row("shell-safety", "checking shell commands (safety)", "commands/s", _HOW),
)
_CHECK = """
import json, os, sys, time
from concurrent.futures import ThreadPoolExecutor
from failproof_es.shell_analysis.equivalence import compare_many
from failproof_es.shell_analysis.posix import check_posix_many
from failproof_es.shell_analysis import safety
commands = json.load(sys.stdin)
def safe(commands):
    if hasattr(safety, "judge_safety_many"):
        return safety.judge_safety_many(commands)
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(safety.judge_safety, commands))
checks = {
    "shell-posix": lambda mark: check_posix_many([f"{each}; : {mark}" for each in commands]),
    "shell-equivalence": lambda mark: compare_many(
        [(f"{each}; : {mark}", f"{each} ; :  {mark}") for each in commands]
    ),
    "shell-safety": lambda mark: safe([f"{each}; : {mark}" for each in commands]),
}
for name, check in checks.items():
    before, began = os.times(), time.perf_counter()
    assert len(check(name)) == len(commands)
    wall, after = time.perf_counter() - began, os.times()
    print(json.dumps([name, wall, sum(after[:4]) - sum(before[:4])]))
"""
"""Run by the measured version's interpreter. No command is checked twice, so nothing is known."""


@contextlib.contextmanager
def begin(python: str, sizes: Sizes) -> Iterator[Measure]:
    """The commands, the same for all rounds."""
    commands = list(islice(different_commands(), sizes.commands))
    yield lambda: _measure(python, commands)


def different_commands() -> Iterator[str]:
    """Without end: the shipped suites' commands over and over, each time with another number."""
    shipped = []
    for file in sorted((ROOT / "suites" / "commands").glob("*.toml")):
        cases = tomllib.loads(file.read_text(encoding="utf-8"))["test_cases"]
        shipped += [str(each["expected_command"]) for each in cases if "expected_command" in each]
    plain = [each for each in shipped if "\n" not in each and "#" not in each]
    assert plain
    for number in count():
        yield from (f"{each}; echo {number}" for each in plain)


def _measure(python: str, commands: list[str]) -> Iterator[Measurement]:
    done = subprocess.run(
        [python, "-P", "-c", _CHECK], input=json.dumps(commands), check=True,
        capture_output=True, text=True,
    )  # fmt: skip
    for line in done.stdout.splitlines():
        name, wall, cpu = json.loads(line)
        yield Measurement(name, len(commands) / wall, wall, cpu)


BENCHMARKS = (Benchmark("shell", ROWS, begin),)
