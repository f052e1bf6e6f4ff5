"""The report's comparison of every two series on what both were asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from failproof_es.report import charts
from failproof_es.report.content import Comparison, Report
from failproof_es.report.page_blocks import (
    Block,
    Cell,
    Column,
    Figure,
    Fold,
    Items,
    Mark,
    Paragraph,
    Table,
)
from failproof_es.report.page_results import MOST_ROWS_DRAWN
from failproof_es.statistics import Interval

ALPHA = 0.05
NAMED_CASES = 200


def comparison(report: Report) -> Iterator[Block]:
    """Every two series on what both were asked."""
    if not report.comparisons:
        yield Paragraph("There is nothing to compare: one model was asked, in one run.")
        return
    yield Paragraph(
        "Pairs are evaluations of the same case that both sides were scored for. The p values are "
        "adjusted for the number of comparisons (Benjamini and Hochberg). The smallest effect is "
        "the difference that so many pairs would have shown in four of five runs. A p below 0.05 "
        "is framed: so large a difference is rarely chance.",
        note=True,
    )
    rates = [each for each in report.comparisons if each.paired.first_only is not None]
    drawn = [
        charts.Difference(
            _whose(each),
            each.paired.difference,
            each.paired.interval.low,
            each.paired.interval.high,
            _signed(each.paired.difference),
        )
        for each in rates
        if each.paired.interval is not None
    ]
    if 0 < len(drawn) <= MOST_ROWS_DRAWN:
        caption = "Differences of pass rates on the same cases, with intervals"
        yield Figure(
            caption,
            charts.difference_forest(drawn, label=caption, axis="passed more by the first named"),
        )
    yield _compared(report.comparisons)
    for each in rates:
        yield from _discordant(each)


def _whose(each: Comparison) -> str:
    part = each.what.removeprefix("pass rate")
    return f"{each.one} − {each.other}{part}"


def _compared(comparisons: Sequence[Comparison]) -> Table:
    return Table(
        "Paired comparisons",
        (
            Column("first − second", "name"),
            Column("of, by which test", "text"),
            Column("pairs"),
            Column("clusters"),
            Column("only first"),
            Column("only second"),
            Column("difference"),
            Column("95 % interval"),
            Column("adjusted p"),
            Column("smallest effect"),
        ),
        tuple(_comparison_row(each) for each in comparisons),
    )


def _comparison_row(each: Comparison) -> tuple[Cell, ...]:
    paired = each.paired
    share = paired.first_only is not None
    smallest = paired.smallest_effect
    return (
        f"{each.one} − {each.other}",
        f"{each.what}, {paired.test}",
        f"{paired.pairs:,}",
        f"{paired.clusters:,}",
        _count_or_dash(paired.first_only),
        _count_or_dash(paired.second_only),
        _signed(paired.difference, share=share),
        _signed_ends(paired.interval, share=share),
        _significance(each.adjusted_p),
        "–" if smallest is None else _signed(min(smallest, 1.0), share=share).lstrip("+"),
    )


def _significance(p: float) -> Mark | str:
    shown = "< 0.001" if p < 0.001 else f"{p:.3f}"
    return Mark(shown, "doubt") if p < ALPHA else shown


def _signed_ends(interval: Interval | None, *, share: bool) -> str:
    if interval is None:
        return "–"
    low, high = (_signed(end, share=share) for end in (interval.low, interval.high))
    return f"{low} to {high}".replace(" points", "")


def _count_or_dash(count: int | None) -> str:
    return "–" if count is None else f"{count:,}"


def _signed(difference: float, *, share: bool = True) -> str:
    """A difference with its sign; of shares in percentage points."""
    text = f"{difference * 100:+.1f} points" if share else f"{difference:+.3f}"
    return text.replace("-", "−")


def _discordant(each: Comparison) -> Iterator[Block]:
    if not each.discordant:
        return
    names = tuple(dict.fromkeys(each.discordant))
    more = len(names) - NAMED_CASES
    listed = names[:NAMED_CASES] + ((f"and {more:,} more",) if more > 0 else ())
    yield Fold(
        f"{each.one} and {each.other}: {len(names):,} cases where just one of them passed",
        (),
        (Items(listed),),
    )
