"""The report's section that compares every two series."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from failproof_es.catalogue.wording import points
from failproof_es.report.charts import plots as charts
from failproof_es.report.data.comparison import BY_GROUP, OVERALL
from failproof_es.report.data.content import Comparison, Report, SeriesPairing
from failproof_es.report.data.result_sentence import ALPHA
from failproof_es.report.page.blocks import (
    Block,
    Cell,
    Collapsible,
    Figure,
    Heading,
    Mark,
    Method,
    Paragraph,
    Table,
    TableColumn,
)
from failproof_es.report.page.tables import (
    CLUSTERS,
    FEWEST_OF_A_GROUP,
    INTERVAL,
    MOST_ROWS_DRAWN,
    clusters_cell,
    collapsed,
    collapsed_if_long,
    counted,
    table_of,
    without_empty_columns,
)
from failproof_es.support.plurals import plural
from failproof_es.support.statistics import Interval

NAMED_CASES = 200
_PRINTED_CASES = 40
_PRINTED_PAIRS = 3
MOST_PAIRS_DRAWN = 10
_AXIS = "percentage points by which the first passed more"
_METHOD = (
    "A difference is the first's less the second's, over pairs: evaluations that were asked the "
    "same question, are graded alike and were scored on both sides. Intervals are Bonett and "
    "Price's for rates, those of the inverted permutation test for scores. p is of McNemar's exact "
    "test; for scores, and where several pairs are of one cluster, of a permutation of signs. It "
    "is adjusted for the number of comparisons (Benjamini and Hochberg), intervals are not: one "
    "that excludes 0 beside an adjusted p above 0.05 says so. A p below 0.05 is framed: so large a "
    "difference is rarely chance. The smallest effect is the difference that so many pairs would "
    "have shown in four of five runs."
)


def comparison(report: Report) -> Iterator[Block]:
    """Blocks of the section: the differences between every two series, then the omissions.

    More than two series: one figure and one table of all pairs, and each pair's details closed.
    """
    if len(report.series) < 2:
        return
    untold = [of for of in report.pairings if of.incomparable is not None]
    for pairing in untold:
        yield Paragraph(
            f"{pairing.one} and {pairing.other} cannot be compared: {pairing.incomparable}."
        )
    if not report.comparisons and not untold:
        yield Paragraph("No case was scored for two models or runs, so nothing is compared.")
    pairs: dict[tuple[str, str], list[Comparison]] = {}
    for comparison in report.comparisons:
        pairs.setdefault((comparison.one, comparison.other), []).append(comparison)
    if len(pairs) > 1:
        yield from _all_pairs(report.comparisons)
    for (one, other), comparisons in pairs.items():
        title = f"{one} (first) and {other} (second)"
        blocks = _pair_blocks(title, comparisons, drawn=len(pairs) <= MOST_PAIRS_DRAWN)
        if len(pairs) > 1:
            yield Collapsible(title, (), tuple(blocks), on_paper=len(pairs) <= _PRINTED_PAIRS)
        else:
            yield Heading(title)
            yield from blocks
    if report.comparisons:
        yield Method(_METHOD)
    compared = [pairing for pairing in report.pairings if pairing.incomparable is None]
    if any(pairing.unpaired for pairing in compared):
        yield _pairings(compared)


def _pairings(compared: Sequence[SeriesPairing]) -> Block:
    """Table of the pairs compared for every two series, and of the omissions with their reason."""
    table = table_of(
        "Compared, and left out",
        compared,
        (TableColumn("first", "name"), lambda pairing: pairing.one),
        (TableColumn("second", "name"), lambda pairing: pairing.other),
        (TableColumn("pairs"), lambda pairing: f"{pairing.pairs:,}"),
        (
            TableColumn("left out: of the first and of the second, and why", "text"),
            lambda pairing: "; ".join(of.describe() for of in pairing.unpaired) or "nothing",
        ),
    )
    return collapsed_if_long(table)


def _all_pairs(comparisons: Sequence[Comparison]) -> Iterator[Block]:
    overall = [comparison for comparison in comparisons if comparison.what == OVERALL]
    if not overall:
        return
    yield from _forest(
        "Differences of pass rates, all cases, with intervals", "every two", overall, _name_pair
    )
    caption = "Paired differences of pass rates, all cases"
    yield collapsed_if_long(_differences_table(caption, overall, "first − second", _name_pair))


def _name_pair(comparison: Comparison) -> str:
    return f"{comparison.one} − {comparison.other}"


def _name_group(comparison: Comparison) -> str:
    what = comparison.what
    return "all cases" if what == OVERALL else what.removeprefix(BY_GROUP)


def _pair_blocks(title: str, comparisons: Sequence[Comparison], *, drawn: bool) -> Iterator[Block]:
    rates = [comparison for comparison in comparisons if comparison.paired.first_only is not None]
    if _are_small(rates[1:]):
        yield _differences_table("Paired differences of pass rates", rates[:1])
        yield collapsed(_differences_table("The same by group", rates[1:]))
    else:
        if drawn:
            yield from _forest("Differences of pass rates, with intervals", title, rates)
        yield collapsed_if_long(_differences_table("Paired differences of pass rates", rates))
    if scores := [comparison for comparison in comparisons if comparison not in rates]:
        table = _differences_table("Paired differences of scores", scores, "score")
        yield collapsed_if_long(table)
    for comparison in comparisons:
        yield from _discordant(comparison)


def _are_small(groups: Sequence[Comparison]) -> bool:
    """Whether groups have so few pairs on average that their differences say little."""
    pairs = sum(comparison.paired.pairs for comparison in groups)
    return pairs < FEWEST_OF_A_GROUP * len(groups)


def _forest(
    caption: str,
    whose: str,
    comparisons: Sequence[Comparison],
    name: Callable[[Comparison], str] = _name_group,
) -> Iterator[Figure]:
    rows = [
        charts.PlottedDifference(
            name(comparison), paired.difference, paired.interval.low, paired.interval.high,
            _signed(paired.difference, share=True),
        )
        for comparison in comparisons
        if (paired := comparison.paired).interval is not None
    ]  # fmt: skip
    if 1 < len(rows) <= MOST_ROWS_DRAWN:
        yield Figure(
            caption, charts.difference_forest(rows, label=f"{whose}: {caption}", axis=_AXIS)
        )


def _differences_table(
    caption: str,
    comparisons: Sequence[Comparison],
    what: str = "group",
    name: Callable[[Comparison], str] = _name_group,
) -> Table:
    """A row for each comparison, named by group or score, or by `name`; `what` heads the names."""
    table = Table(
        caption,
        (
            TableColumn(what, "name"),
            TableColumn("pairs"),
            CLUSTERS,
            TableColumn("only first passed"),
            TableColumn("only second passed"),
            TableColumn("difference"),
            INTERVAL,
            TableColumn("adjusted p"),
            TableColumn("smallest effect"),
        ),
        tuple((name(compared), *_difference_cells(compared)) for compared in comparisons),
    )
    return without_empty_columns(table)


def _difference_cells(comparison: Comparison) -> tuple[Cell, ...]:
    paired = comparison.paired
    share = paired.first_only is not None
    smallest = paired.smallest_effect
    return (
        f"{paired.pairs:,}",
        clusters_cell(paired.clusters, paired.pairs),
        counted(paired.first_only),
        counted(paired.second_only),
        _signed(paired.difference, share=share),
        _signed_ends(paired.interval, share=share) + _unadjusted_remark(comparison),
        _significance(comparison.adjusted_p),
        "" if smallest is None else _signed(min(smallest, 1.0), share=share).lstrip("+"),
    )


def _significance(p: float) -> Mark | str:
    text = "< 0.001" if p < 0.001 else f"{p:.3f}"
    return Mark(text) if p < ALPHA else text


def _signed_ends(interval: Interval | None, *, share: bool) -> str:
    if interval is None:
        return "–"
    low, high = (_signed(end, share=share) for end in (interval.low, interval.high))
    return f"{low} to {high}".replace(" points", "")


def _unadjusted_remark(comparison: Comparison) -> str:
    """A remark if the interval excludes 0 but the adjusted p is not below `ALPHA`; else empty.

    The interval is not adjusted for the number of comparisons.
    """
    interval = comparison.paired.interval
    if interval is None or interval.low <= 0 <= interval.high or comparison.adjusted_p < ALPHA:
        return ""
    return " (unadjusted)"


def _signed(difference: float, *, share: bool) -> str:
    """A difference with its sign: in percentage points if `share`, else with three decimals."""
    size = points(abs(difference)) if share else f"{abs(difference):.3f}"
    if not size.removesuffix(" points").strip("0."):
        return size
    return ("−" if difference < 0 else "+") + size


def _discordant(comparison: Comparison) -> Iterator[Block]:
    """For each of the two series, a list of the cases that only it passed, if there are any.

    With repetitions a case may be in both lists.
    """
    for name, cases in (
        (comparison.one, comparison.only_first),
        (comparison.other, comparison.only_second),
    ):
        if cases:
            more = len(cases) - NAMED_CASES
            case_names = ", ".join(cases[:NAMED_CASES]) + (
                f" and {more:,} more" if more > 0 else ""
            )
            summary = f"Passed by {name} alone: {plural(len(cases), 'case')}"
            few = len(cases) <= _PRINTED_CASES
            yield Collapsible(summary, (), (Paragraph(case_names),), on_paper=few)
