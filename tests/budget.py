"""Writes `tests/budget.toml` anew from what two runs took, by `make test` and `make test-all`.

    PYTEST_ADDOPTS=--junitxml=fast.xml make test
    PYTEST_ADDOPTS=--junitxml=whole.xml make test-all
    python -m tests.budget fast.xml whole.xml

On a quiet machine: the seconds count for everybody.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

from tests.timing import BUDGET, folder_of, read_budget

LONG_S = 15.0
"""A file that takes at least so many seconds begins first."""
_HEAD = """\
# What tests cost in four processes on two quiet cores; `python -m tests.budget` writes it.
# tests/timing.py reads this file; a whole run says which folder outgrew it.

# In descending order of their seconds: they begin first.
"""


def seconds_by_file(junit: Path) -> dict[str, float]:
    """Seconds of the tests of each file, fixtures included."""
    found: defaultdict[str, float] = defaultdict(float)
    for case in ElementTree.parse(junit).iter("testcase"):
        found[file_of(case.attrib["classname"])] += float(case.attrib["time"])
    return found


def file_of(classname: str) -> str:
    """The file of a test, which may be in a class: `tests.unit.test_a.TestB` is in test_a.py."""
    parts = classname.split(".")
    while parts[-1][:1].isupper():
        parts.pop()
    return "/".join(parts) + ".py"


def by_folder(files: Mapping[str, float]) -> dict[str, float]:
    """The same by folder of the budget."""
    found: defaultdict[str, float] = defaultdict(float)
    for file, seconds in files.items():
        found[folder_of(file)] += seconds
    return found


def as_toml(
    fast: Mapping[str, float], whole: Mapping[str, float], computing: tuple[str, ...]
) -> str:
    """The text of the budget: of each folder its seconds without the slow tests, and with them."""
    long = sorted((file for file in whole if whole[file] >= LONG_S), key=lambda each: -whole[each])
    short, all_of_it = by_folder(fast), by_folder(whole)
    lines = [
        _HEAD + "long_files = [",
        *(f"    {json.dumps(file)}," for file in long),
        "]",
        "",
        "# They keep a core busy from their begin to their end: spread among the others.",
        "computing = [",
        *(f"    {json.dumps(file)}," for file in computing),
        "]",
        "",
        "# Of each folder: without the slow tests, and with them.",
        "[seconds]",
        *(
            f"{json.dumps(folder)} = [{(least := short.get(folder, 0.0)):.0f}, "
            f"{max(least, all_of_it[folder]):.0f}]"  # one of two runs may have been slower
            for folder in sorted(all_of_it)
        ),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    fast, whole = (seconds_by_file(Path(name)) for name in sys.argv[1:3])
    kept = read_budget(BUDGET, whole=True).computing
    BUDGET.write_text(as_toml(fast, whole, kept), "utf-8")
