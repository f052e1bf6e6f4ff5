"""One table for a slide: the pass rate of each model in each category."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from failproof_es.catalogue.wording import moment
from failproof_es.problems import InvalidInput, Problem
from failproof_es.report.data.content import GroupRate, Report
from failproof_es.report.page.tables import INTERVAL
from failproof_es.support.near_names import did_you_mean
from failproof_es.support.plurals import plural
from failproof_es.support.statistics import Rate

MOST_ROWS = 16
MOST_COLUMNS = 6
ALL_CASES = "all cases"
_WITH_LEFT_OUT = "all cases, also those left out"
_METHOD = (
    "Wilson's over clusters (evaluations of one case, and cases of one family, count together), "
    "wider near 0 % and 100 %."
)


@dataclass(frozen=True, slots=True)
class Slide:
    """A table of pass rates with names of rows and columns; `None` where nothing was scored."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Rate | None, ...]], ...]
    notes: tuple[str, ...]


def build_slide(report: Report, without: Sequence[str] = ()) -> Slide:
    """The pass rates of all cases, by severity, and by category, or by suite without categories.

    `without` leaves groups out: `severity`, `category` or `suite` all of them, or one by its name
    on the slide. Models are columns, unless there are more of them than categories. At most
    `MOST_ROWS` and `MOST_COLUMNS` are shown, the first ones. Notes say what is left out. The rate
    of all cases counts the groups that are left out, and its name says so.

    Raises `InvalidInput` for a name that the slide does not have, or if no group is left.
    """
    every = _dimensions(report)
    groups = [
        group
        for dimension in ("overall", *every)
        for group in report.groups
        if group.dimension == dimension and {dimension, _name(group)}.isdisjoint(without)
    ]
    dimensions = {group.dimension for group in groups}
    by = [dimension for dimension in every if dimension in dimensions]
    _require_known(report, every, without, groups)
    row_names = {_name(group): _name(group) for group in groups}
    if ALL_CASES in row_names and not {ALL_CASES, *every}.issuperset(without):
        row_names[ALL_CASES] = _WITH_LEFT_OUT
    rates = {
        (row_names[_name(group)], group.series): group.rate for group in groups if group.rate.total
    }
    names = list(row_names.values())
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
    runs = ", ".join(dict.fromkeys(provenance.run.name for provenance in report.asked))
    title = f"{runs}: pass rates" + (f" by {' and '.join(by)}" if by else "")
    notes = [*_notes(report)]
    if any(rate is None for _, of_row in rows for rate in of_row):
        notes.append("–: nothing was scored.")
    if without:
        notes.append(f"Left out by choice: {', '.join(without)}.")
    if left_out:
        notes.append(f"{'; '.join(left_out)}.")
    return Slide(title, tuple(models[:MOST_COLUMNS]), rows, tuple(notes))


def _require_known(
    report: Report, by: Sequence[str], without: Sequence[str], groups: Sequence[GroupRate]
) -> None:
    names = [_name(group) for group in report.groups if group.dimension in ("overall", *by)]
    known = list(dict.fromkeys((*by, *names)))
    problems = [
        Problem(
            "unknown-name", f"the slide has no {name!r}", field="--without",
            remedy=f"{did_you_mean(name, known)}it has: {', '.join(known)}",
        )
        for name in without if name not in known
    ]  # fmt: skip
    if not problems and not groups and without:
        problems = [
            Problem(
                "invalid-option", "nothing is left on the slide", field="--without",
                remedy="leave out less",
            )
        ]  # fmt: skip
    if problems:
        raise InvalidInput(problems)


def _notes(report: Report) -> Iterator[str]:
    """The content of the cells, the report's verdict with its remarks, and the runs behind it."""
    yield report.verdict.sentence
    yield from report.verdict.remarks
    yield f"Passed, of the evaluations that were scored, and the {INTERVAL.heading}: {_METHOD}"
    yield f"As the log stood on {moment(report.made_at)}: {report.title}."
    unscored = sum(group.unscored for group in report.groups if group.dimension == "overall")
    if unscored:
        yield f"{plural(unscored, 'evaluation')} without a score: in no rate."


def _dimensions(report: Report) -> list[str]:
    """The dimensions of the groups beside all cases, without those that have a single group."""
    dimensions = {group.dimension for group in report.groups}
    return [
        by
        for by in ("severity", "category" if "category" in dimensions else "suite")
        if len({group.name for group in report.groups if group.dimension == by}) > 1
    ]


def _name(group: GroupRate) -> str:
    if group.dimension == "overall":
        return ALL_CASES
    return f"severity {group.name}" if group.dimension == "severity" else group.name


def ramp_step(rate: Rate, steps: int) -> int:
    """The step of a colour ramp, from 0 (all passed) to `steps` - 1 (none passed)."""
    failed = rate.total - rate.passed
    return -(-failed * (steps - 1) // rate.total)
