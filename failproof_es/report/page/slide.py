"""One table for a slide: the pass rate of each model in each category."""

from __future__ import annotations

from dataclasses import dataclass

from failproof_es.report.data.content import GroupRate, Report
from failproof_es.support.plurals import plural
from failproof_es.support.statistics import Rate

MOST_ROWS = 16
MOST_COLUMNS = 6
_ALL_CASES = "all cases"


@dataclass(frozen=True, slots=True)
class Slide:
    """A table of pass rates with names of rows and columns; `None` where nothing was scored."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Rate | None, ...]], ...]
    note: str


def build_slide(report: Report) -> Slide:
    """The pass rates of all cases, and by category, or by suite where cases have no categories.

    Models are columns, unless there are more of them than categories. At most `MOST_ROWS` and
    `MOST_COLUMNS` are shown, the first ones; the note says how many are left out.
    """
    groups = [group for group in report.groups if group.dimension in ("overall", _by(report))]
    rates = {(_name(group), group.series): group.rate for group in groups if group.rate.total}
    names = list(dict.fromkeys(map(_name, groups)))
    models = list(report.series)
    if len(models) > len(names):
        rates = {(model, name): rate for (name, model), rate in rates.items()}
        names, models = models, names
    rows = tuple(
        (name, tuple(rates.get((name, model)) for model in models[:MOST_COLUMNS]))
        for name in names[:MOST_ROWS]
    )
    left_out = [
        f"{plural(len(of) - most, what)} left out"
        for of, most, what in ((names, MOST_ROWS, "row"), (models, MOST_COLUMNS, "column"))
        if len(of) > most
    ]
    note = "; ".join(("Passed, of the evaluations that were scored", *left_out))
    return Slide(report.title, tuple(models[:MOST_COLUMNS]), rows, f"{note}.")


def _by(report: Report) -> str:
    dimensions = {group.dimension for group in report.groups}
    return "category" if "category" in dimensions else "suite"


def _name(group: GroupRate) -> str:
    return _ALL_CASES if group.dimension == "overall" else group.name


def ramp_step(rate: Rate, steps: int) -> int:
    """The step of a colour ramp, from 0 (all passed) to `steps` - 1 (none passed)."""
    failed = rate.total - rate.passed
    return -(-failed * (steps - 1) // rate.total)
