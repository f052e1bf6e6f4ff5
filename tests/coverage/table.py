"""The coverage as a table: for each number and count of clusters, over all that is drawn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

LOWEST, HIGHEST = 0.93, 0.975
BEGIN, END = "<!-- coverage: made by `python -m tests.coverage` -->", "<!-- end of coverage -->"


@dataclass(frozen=True, slots=True)
class Covered:
    """How often the intervals of one setting hold the truth."""

    what: str
    clusters: int
    size: int
    of: str
    share: float
    printed: int

    def line(self) -> str:
        """The setting and its coverage in one line."""
        return (
            f"{self.share:.3f}  {self.what}: {self.clusters} x {self.size}, {self.of} "
            f"({self.printed:,} intervals)"
        )


_METHODS = {
    "pass rate": "Wilson",
    "pass rate, clusters": "Wilson",
    "mean score": "Wilson",
    "mean output speed": "Student's t, over clusters",
    "difference of pass rates": "Bonett-Price",
    "difference of pass rates, clusters": "Bonett-Price",
    "difference of mean scores": "inverted permutation test",
    "kappa": "Fleiss, Cohen and Everitt, Student's t",
}


def method_of(what: str) -> str:
    """The method by which the product makes the interval of this number."""
    if what.endswith((" labels", " labels each")):
        return "Jeffreys' draws"
    return _METHODS.get(what, "order statistics")


def merged(old: str, new: str) -> str:
    """The table `new` with the rows of `old` on other numbers, in the order of `old`."""
    drawn = {_what(row) for row in new.splitlines() if row.startswith("|")}
    kept = [row for row in old.splitlines() if row.startswith("| ") and _what(row) not in drawn]
    head, rows = new.splitlines()[:4], new.splitlines()[4:]
    return "\n".join([*head, *kept, *rows]) + "\n"


def _what(row: str) -> str:
    return row.split("|")[1]


def table_of(covered: Sequence[Covered], draws: int) -> str:
    """A Markdown table: a row for each number, count of clusters and size of a cluster."""
    rows: defaultdict[tuple[str, int, int], list[Covered]] = defaultdict(list)
    for each in covered:
        if each.printed:
            rows[each.what, each.clusters, each.size].append(each)
    lines = [
        "Mean, lowest and highest are over the settings of a row, `samples` of each.",
        "",
        "| number | method | clusters | n | settings | samples | mean | lowest | highest |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for (what, clusters, size), settings in rows.items():
        shares = [each.share for each in settings]
        numbers = [f"{number:.3f}" for number in (fmean(shares), min(shares), max(shares))]
        lines.append(
            f"| {what} | {method_of(what)} | {clusters} | {clusters * size} | "
            f"{len(settings)} | {draws:,} | {' | '.join(numbers)} |"
        )
    return "\n".join(lines) + "\n"
