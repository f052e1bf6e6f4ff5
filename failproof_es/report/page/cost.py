"""The report's section on costs and latency."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import fsum

from failproof_es.catalogue.wording import judge_named, usd, usd_at_least
from failproof_es.core.costs import describe_tokens
from failproof_es.report.charts import plots as charts
from failproof_es.report.data.analysis import MEDIAN_LATENCY
from failproof_es.report.data.content import Cost, Distribution, Report
from failproof_es.report.page.blocks import (
    Block,
    Collapsible,
    Figure,
    Paragraph,
    Table,
    TableColumn,
)
from failproof_es.report.page.tables import measures_tables, without_empty_columns
from failproof_es.support.plurals import plural


def cost_and_latency(report: Report) -> Iterator[Block]:
    """Blocks of the section: the cost of each model and judge, and how long answers took."""
    yield from _costs(report.costs)
    for run in (provenance.run for provenance in report.asked):
        if (spent := run.spending.of_ceiling) is not None:
            yield Paragraph(f"Run {run.run_number} spent {spent} (its spend ceiling).")
    measured = [measure for measure in report.measures if measure.unit != "score"]
    if measured:
        yield from measures_tables("Latency and speed, of whole conversations", measured)
    yield from _latencies(report.latencies)


def summarize_cost(report: Report) -> str:
    """The section in a line: answers, their cost, and their time with one model."""
    answers = sum(cost.answers for cost in report.costs)
    parts = [plural(answers, "answer")] if answers else []
    if _is_priced(report.costs):
        parts.append(_total_cost(report.costs))
    medians = [measure for measure in report.measures if measure.name == MEDIAN_LATENCY]
    if len(medians) == 1:
        parts.append(f"median latency {medians[0].value:,.0f} ms")
    return ", ".join(parts)


def _is_priced(costs: Sequence[Cost]) -> bool:
    return any(cost.cost_usd is not None for cost in costs)


def _costs(costs: Sequence[Cost]) -> Iterator[Block]:
    if not costs:
        return
    several = len({cost.run_number for cost in costs}) > 1
    names = [
        judge_named(cost.key) + (f" (run {cost.run_number})" if several else "") for cost in costs
    ]
    bars = [
        charts.Bar(name, cost.cost_usd, f"{_usd_of(cost)}, {plural(cost.answers, 'answer')}")
        for name, cost in zip(names, costs, strict=True)
        if cost.cost_usd is not None
    ]
    if len(bars) > 1 and any(bar.value > 0 for bar in bars):
        caption = "Cost by model and judge"
        yield Figure(caption, charts.bars(bars, label=caption, axis="US dollars"))
    rows = [
        (
            name,
            f"{cost.answers:,}",
            describe_tokens(cost.input_tokens, cost.input_unknown),
            describe_tokens(cost.output_tokens, cost.output_unknown),
            _usd_of(cost) if bars else "",
            _format_answer_cost(cost) if bars else "",
        )
        for name, cost in zip(names, costs, strict=True)
    ]
    if len(costs) > 1:
        in_all = f"{sum(cost.answers for cost in costs):,}"
        rows.append(("in all", in_all, "", "", _total_cost(costs) if bars else "", ""))
    columns = (
        TableColumn("model or judge", "name"),
        TableColumn("answers"),
        TableColumn("input tokens"),
        TableColumn("output tokens"),
        TableColumn("cost"),
        TableColumn("cost of an answer"),
    )
    yield without_empty_columns(Table("Paid for answers", columns, tuple(rows)))


def _total_cost(costs: Sequence[Cost]) -> str:
    amounts = [cost.cost_usd for cost in costs if cost.cost_usd is not None]
    if not amounts:
        return usd(None)
    lacking = len(costs) - len(amounts) + sum(cost.possibly_charged for cost in costs)
    return usd_at_least(fsum(amounts), lacking)


def _usd_of(cost: Cost) -> str:
    return usd_at_least(cost.cost_usd, cost.possibly_charged)


def _format_answer_cost(cost: Cost) -> str:
    if cost.cost_usd is None or not cost.answers:
        return "unknown"
    return f"${cost.cost_usd / cost.answers:.6f}"


def _latencies(distributions: Sequence[Distribution]) -> Iterator[Block]:
    curves = [_curve(distribution) for distribution in distributions if distribution.values]
    if curves:
        caption = "Share of answers within a time"
        figure = Figure(caption, charts.latency_curves(curves, label=caption))
        yield Collapsible(caption, (), (figure,))


def _curve(distribution: Distribution) -> charts.Curve:
    total = len(distribution.values)
    return charts.Curve(
        distribution.series,
        tuple((ms, (index + 1) / total) for index, ms in enumerate(distribution.values)),
    )
