"""The report's section on pass rates, with everything that is computed of passes and scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import get_args

from failproof_es.report.charts import plots as charts
from failproof_es.report.data.content import Dimension, GroupRate, Report
from failproof_es.report.page.blocks import (
    Block,
    Collapsible,
    Figure,
    Method,
    Paragraph,
    Table,
    TableColumn,
)
from failproof_es.report.page.tables import (
    CLUSTERS,
    FEWEST_OF_A_GROUP,
    INTERVAL,
    MODEL,
    MOST_ROWS_DRAWN,
    MOST_ROWS_OPEN,
    RATE_COLUMNS,
    RATE_METHOD,
    UNSCORED_COLUMNS,
    by_dimension,
    counted_rate,
    measures_tables,
    rate_cells,
    table_of,
    unscored_cells,
    without_empty_columns,
)
from failproof_es.support.plurals import plural
from failproof_es.support.statistics import Rate

_OVER_REFUSAL = "Over-refusal: refused and failed for it, of the cases that want no refusal. "
_UNDER_REFUSAL = "Under-refusal: answered and failed for it, of the cases that want a refusal. "
_WITH_INTERVALS = f"with {INTERVAL.heading}s"
_MEANINGS = {
    "items": "the share that held of a case's checklist, as far as judges decided it",
    "judge_agreement": "how often two judges said the same of an item, chance included",
    "safe_answer": "the share of answers that hold no dangerous command, whatever a case's label "
    "says: quote this about a model. A case of category safety passes when the checker's verdict "
    "agrees with its label, which may call for danger",
    "evaluation_score": "the median of what the judges gave, 0 to 1",
    "T": "how far the judge held the prompt for harmless, 0 to 1",
    "I": "how far it was in doubt, 0 to 1",
    "F": "how far it held it for harmful, 0 to 1",
}
"""Explanations of the scores that shipped dialects give besides pass and fail."""


def rates(report: Report) -> Iterator[Block]:
    """Blocks of the section: pass rates, stability, refusals and mean scores.

    Left out is what the verdict says (the rate of a single series that has a score for everything)
    and a dimension with a single group.
    """
    dimensions = [dimension for dimension in get_args(Dimension) if _adds(report, dimension)]
    for dimension in dimensions:
        yield from _dimension(report, dimension)
    if dimensions:
        yield Method(RATE_METHOD)
    yield from _stability(report)
    yield from _refusals(report)
    scores = [measure for measure in report.measures if measure.unit == "score"]
    if scores:
        yield from measures_tables("Mean scores", scores)
        measured = dict.fromkeys(measure.name.removeprefix("mean ") for measure in scores)
        if meanings := " ".join(f"{n}: {_MEANINGS[n]}." for n in measured if n in _MEANINGS):
            yield Paragraph(meanings, note=True)


def _adds(report: Report, dimension: str) -> bool:
    """Whether the rates of the dimension say more than the verdict does."""
    groups = [group for group in report.groups if group.dimension == dimension]
    if not any(group.rate.total for group in groups):
        return False
    if dimension == "overall":
        return len(report.series) > 1 or any(group.bounds is not None for group in groups)
    return len({group.name for group in groups}) > 1


def _dimension(report: Report, dimension: str) -> Iterator[Block]:
    """The figure and the table of a dimension; closed if nothing failed, or for small groups."""
    groups = [group for group in report.groups if group.dimension == dimension]
    names = list(dict.fromkeys(group.name for group in groups))
    groups.sort(key=lambda group: names.index(group.name))
    title = f"Passed, {by_dimension(dimension)}"
    blocks: tuple[Block, ...] = (*_figure(title, groups), _rates_table(title, groups))
    evaluations = sum(group.rate.total for group in groups)
    is_open = dimension == "overall" or (
        bool(report.failures)
        and evaluations >= FEWEST_OF_A_GROUP * len(groups)
        and len(groups) <= MOST_ROWS_OPEN
    )
    if is_open:
        yield from blocks
    else:
        summary = f"{title}: {plural(len(names), 'group')}"
        yield Collapsible(summary, (), blocks, on_paper=len(groups) <= MOST_ROWS_OPEN)


def _figure(title: str, groups: Sequence[GroupRate]) -> Iterator[Figure]:
    rows = [
        charts.PlottedRate(
            group.name, group.series, rate.value, rate.interval.low, rate.interval.high,
            rate.passed, rate.total,
        )
        for group in groups
        if (rate := group.rate).value is not None and rate.interval is not None
    ]  # fmt: skip
    if len(rows) > 1 and len(rows) <= MOST_ROWS_DRAWN:
        caption = f"{title}, with intervals"
        yield Figure(caption, charts.interval_dots(rows, label=caption, axis="passed"))


def _rates_table(title: str, groups: Sequence[GroupRate]) -> Table:
    columns = (TableColumn("group", "name"), TableColumn("model", "text"), *RATE_COLUMNS,
               *UNSCORED_COLUMNS)  # fmt: skip
    several = len({group.series for group in groups}) > 1
    single = len({group.name for group in groups}) == 1
    rows = tuple(
        (
            "" if several and single else group.name,
            group.series if several else "",
            *rate_cells(group.rate),
            *unscored_cells(group),
        )
        for group in groups
    )
    return without_empty_columns(Table(title, columns, rows))


def _stability(report: Report) -> Iterator[Block]:
    if report.stability:
        yield table_of(
            f"Cases that passed in all repetitions, or in some, {_WITH_INTERVALS}",
            report.stability,
            (MODEL, lambda stable: stable.series),
            (TableColumn("repetitions"), lambda stable: str(stable.k)),
            (TableColumn("passed every time"), lambda stable: counted_rate(stable.all_of_k)),
            (TableColumn("passed at least once"), lambda stable: counted_rate(stable.any_of_k)),
            (
                TableColumn("passed sometimes"),
                lambda stable: f"{stable.changing:,} of {stable.any_of_k.total:,}",
            ),
            (CLUSTERS, lambda stable: f"{stable.any_of_k.clusters:,}"),
        )
        yield Method(
            "Of the cases whose repetitions were all scored. Intervals are Wilson's, over "
            "clusters: cases of one family form a cluster."
        )


def _rate_or_nothing(rate: Rate) -> str:
    return counted_rate(rate) if rate.total else ""


def _refusals(report: Report) -> Iterator[Block]:
    """The table of refusals, if any case wants one, or an answer was refused and failed for it."""
    if any(refusal.under.total or refusal.over.passed for refusal in report.refusals):
        yield table_of(
            f"Refusals, {_WITH_INTERVALS}",
            report.refusals,
            (MODEL, lambda refusal: refusal.series),
            (
                TableColumn("refused, of scored"),
                lambda refusal: f"{refusal.refused:,} of {refusal.scored:,}",
            ),
            (TableColumn("over-refusal"), lambda refusal: _rate_or_nothing(refusal.over)),
            (TableColumn("under-refusal"), lambda refusal: _rate_or_nothing(refusal.under)),
        )
        over, under = (
            any(rate.total for rate in rates)
            for rates in zip(*((r.over, r.under) for r in report.refusals), strict=True)
        )
        yield Method(
            (_OVER_REFUSAL if over else "")
            + (_UNDER_REFUSAL if under else "")
            + "Intervals are Wilson's, over clusters."
        )
