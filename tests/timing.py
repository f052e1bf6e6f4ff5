"""Order of the test files, and where the time of a whole run went.

`tests/budget.toml` holds the numbers: the files that take long, and the seconds of each folder.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pytest

BUDGET = Path(__file__).parent / "budget.toml"
_DEPTH = 3
"""Parts of a folder's path that have a budget of their own: `tests/integration/store`."""
_TOLERANCE = 1.5
"""A folder may take this times its budget: durations vary with what runs beside a test."""
_LEAST_S = 5.0
"""Smaller excesses are noise, in seconds."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The file `tests/budget.toml`."""

    long_files: tuple[str, ...]
    """In descending order of their seconds; they begin first."""
    computing: tuple[str, ...]
    """Files that keep a core busy from their begin to their end."""
    seconds: Mapping[str, float]
    """Of each folder, over all processes, on two quiet cores."""


def read_budget(path: Path, *, whole: bool) -> Budget:
    """The budget of a run without the slow tests, or of a whole one.

    Raises `tomllib.TOMLDecodeError` and `KeyError` for a file of another form.
    """
    table = tomllib.loads(path.read_text())
    return Budget(
        tuple(table["long_files"]),
        tuple(table["computing"]),
        {folder: float(pair[whole]) for folder, pair in table["seconds"].items()},
    )


def order_files(files: Iterable[str], budget: Budget) -> list[str]:
    """Each file once, in the order in which they begin.

    Long files begin first, so that no core waits for one at the end. Files that only compute are
    spread among the others, which wait for half of their time.
    """
    files = list(dict.fromkeys(files))
    first = [file for file in budget.long_files if file in files]
    computing = [file for file in budget.computing if file in files]
    others = [file for file in files if file not in {*first, *computing}]
    step = max(1, len(others) // (2 * max(1, len(computing))))
    for place, file in enumerate(computing):
        others.insert(place * (step + 1), file)
    return [*first, *others]


def sort_tests(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort the tests: a file belongs to one process, and files are handed out in this order."""
    paths = {item.path: str(item.path.relative_to(config.rootpath)) for item in items}
    ordered = order_files(paths.values(), read_budget(BUDGET, whole=True))
    places = {file: place for place, file in enumerate(ordered)}
    items.sort(key=lambda item: places[paths[item.path]])


def folder_of(file: str) -> str:
    """The folder of the budget that a test file belongs to."""
    return "/".join(file.split("/")[:-1][:_DEPTH])


def seconds_by_folder(reports: Mapping[str, Iterable[object]]) -> dict[str, float]:
    """Seconds of the tests in each folder of the budget, fixtures included; the longest first.

    A test that a contract defines counts where it is inherited.
    """
    seconds: defaultdict[str, float] = defaultdict(float)
    for report in chain.from_iterable(reports.values()):
        if isinstance(report, pytest.TestReport):
            seconds[folder_of(report.nodeid.partition("::")[0])] += report.duration
    return dict(sorted(seconds.items(), key=lambda pair: -pair[1]))


def is_whole(marks: str) -> bool:
    """Whether a run with this expression of marks has the slow tests."""
    return "not slow" not in marks


def outgrown(seconds: Mapping[str, float], budget: Mapping[str, float]) -> list[str]:
    """The folders that took longer than their budget allows, one sentence for each.

    A slower machine slows every folder down: where the sum is above the sum of the budgets, each
    budget grows in proportion, and the sum itself is named.
    """
    known = sum(budget.get(folder, 0.0) for folder in seconds)
    total = sum(seconds.values())
    slower = max(1.0, total / known if known else 1.0)
    sentences = [
        f"{folder} took {took:.0f} s and has a budget of {allowed:.0f} s"
        for folder, took in seconds.items()
        if took > slower * _TOLERANCE * (allowed := budget.get(folder, 0.0)) + _LEAST_S
    ]
    if slower > _TOLERANCE:
        sentences.append(
            f"all folders took {total:.0f} s and have {known:.0f} s: a busy machine, or all grew"
        )
    return sentences


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print where the time went, if `--durations` was given."""
    config = terminalreporter.config
    if not config.getoption("durations"):
        return
    seconds = seconds_by_folder(terminalreporter.stats)
    terminalreporter.section("seconds by folder, all processes")
    for folder, took in seconds.items():
        terminalreporter.line(f"{took:8.1f} {folder}")
    budget = read_budget(BUDGET, whole=is_whole(config.getoption("markexpr")))
    for sentence in outgrown(seconds, budget.seconds):
        terminalreporter.line(f"outgrown (tests/budget.toml): {sentence}")
