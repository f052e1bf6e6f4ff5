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
    return _METHODS.get(what, "order statistics")


def table_of(covered: Sequence[Covered], draws: int) -> str:
    """A Markdown table: a row for each number, count of clusters and size of a cluster."""
    rows: defaultdict[tuple[str, int, int], list[Covered]] = defaultdict(list)
    for each in covered:
        if each.printed:
            rows[each.what, each.clusters, each.size].append(each)
    lines = [
        f"{draws:,} samples of each setting. Mean, lowest and highest are over the settings of a "
        "row.",
        "",
        "| number | method | clusters | n | settings | mean | lowest | highest |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for (what, clusters, size), settings in rows.items():
        shares = [each.share for each in settings]
        numbers = (fmean(shares), min(shares), max(shares))
        lines.append(
            f"| {what} | {method_of(what)} | {clusters} | {clusters * size} | "
            f"{len(settings)} | " + " | ".join(f"{number:.3f}" for number in numbers) + " |"
        )
    return "\n".join(lines) + "\n"
