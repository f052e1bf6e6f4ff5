"""The test files of one mutant, in a copy of the tree with that mutant alone."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.mutants.copies import ORDERING, Copy
from tools.mutants.drawing import Mutant
from tools.mutants.results import KILLED, LEFT, NOT_REACHED, SURVIVED, TIMEOUT, Result

_LEAST_TIMEOUT_S = 600.0
_TIMEOUT_FACTOR = 5.0
"""So many times the recorded seconds, and not less than that: on a busy machine pytest alone took
two minutes to begin, and three mutants counted as killed that no test had seen."""
_UNMUTATED_TIMEOUT_S = 1800.0
NO_TESTS = 5
"""Pytest's exit code where it collected none."""
_FAILURE = re.compile(r"^(FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
"""A line of pytest's short summary."""


def within(files: Sequence[str], seconds: Mapping[str, float], cap_s: float) -> list[str]:
    """The files from the first on that together take at most `cap_s`; of one, always that."""
    result: list[str] = []
    sum_s = 0.0
    for path in files:
        sum_s += seconds[path]
        if result and sum_s > cap_s:
            break
        result.append(path)
    return result


def run_mutant(
    copy: Copy,
    mutant: Mutant,
    files: Sequence[str],
    seconds: Mapping[str, float],
    *,
    cap_s: float,
    earlier: Result | None,
    logs: Path,
) -> Result:
    """Run the files that reach the mutant, in their order, until a test fails.

    Files that passed in an earlier run are not run again. Raises `RuntimeError` where pytest
    collected nothing.
    """
    passed = [] if earlier is None else [path for path in earlier.passed if path in files]
    chosen = within(files, seconds, cap_s)
    waiting = [path for path in chosen if path not in passed]
    if waiting:
        copy.write(mutant.path, mutant.mutated)
        try:
            test, took_s = _first_failure(copy, waiting, seconds, logs / f"{mutant.id}.log")
        finally:
            copy.restore(mutant.path)
        if test is not None:
            return Result.of(mutant, KILLED, by=test, passed=passed, seconds=took_s)
        passed += waiting
    left = [path for path in files if path not in passed]
    outcome = LEFT if left else SURVIVED if files else NOT_REACHED
    return Result.of(mutant, outcome, passed=passed, left=left)


def _first_failure(
    copy: Copy, files: Sequence[str], seconds: Mapping[str, float], log: Path
) -> tuple[str | None, float]:
    """The test that failed, or why there was none; `None` if all passed. And seconds.

    An error in a fixture may be that of a busy machine: the files are run a second time.
    """
    timeout_s = max(_LEAST_TIMEOUT_S, _TIMEOUT_FACTOR * sum(seconds[path] for path in files))
    began = time.monotonic()
    for attempt in (1, 2):
        code = copy.pytest("-q", "-x", "-p", ORDERING, *files, log=log, timeout_s=timeout_s)
        if code is None:
            return f"{TIMEOUT} after {timeout_s:.0f} s", time.monotonic() - began
        if code == NO_TESTS:
            raise RuntimeError(f"pytest collected no test: {log}")
        if code == 0:
            return None, time.monotonic() - began
        failures = _FAILURE.findall(log.read_text(errors="replace"))
        kind, test = failures[0] if failures else ("", f"exit code {code}")
        if attempt == 2 or not (kind == "ERROR" and "::" in test):
            break
    return test, time.monotonic() - began


def seconds_without_probes(
    copy: Copy, files: Sequence[str], known: dict[str, float | None], logs: Path
) -> None:
    """Add to `known` the seconds of each file in a copy without probes, `None` if it fails."""
    for number, path in enumerate(files):
        if path not in known:
            began, log = time.monotonic(), logs / f"unmutated-{number}.log"
            code = copy.pytest("-q", "-x", path, log=log, timeout_s=_UNMUTATED_TIMEOUT_S)
            known[path] = time.monotonic() - began if code == 0 else None
