"""The report's section about judges: their verdicts, who agrees with whom, and on what not."""

from __future__ import annotations

from collections.abc import Iterator

from failproof_es.catalogue.wording import describe_vote, judge_named, usd_at_least
from failproof_es.engine.reviews.comparison import VERDICT
from failproof_es.engine.reviews.disputed_items import Vote
from failproof_es.report.data.content import (
    Cost,
    JudgeAgreement,
    JudgeCoverage,
    RaterDisagreement,
    Report,
)
from failproof_es.report.data.judge_agreement import listing_command
from failproof_es.report.page.blocks import (
    Block,
    Collapsible,
    Method,
    Paragraph,
    Table,
    TableColumn,
)
from failproof_es.report.page.tables import INTERVAL, counted, table_of


def judges(report: Report) -> Iterator[Block]:
    """Blocks of the section: verdicts by judge, agreement between judges and with people."""
    if report.judged:
        yield _verdicts(report)
    if report.agreement:
        yield _agreement(report.agreement)
        yield Method(
            "Agreement beyond chance is Cohen's kappa: 1 is full agreement, 0 as much as chance "
            "gives. Its interval is over clusters (cases and families of cases)."
        )
        if any(raters.lists for raters in report.agreement):
            yield _lists(report.agreement)
        yield from _disagreements(report)


def _verdicts(report: Report) -> Table:
    several = len({judge.run_number for judge in report.judged}) > 1
    costs = {(cost.run_number, cost.key): cost for cost in report.costs}
    decisive = {
        (provenance.run.run_number, judge.judge): judge.decisive
        for provenance in report.asked
        for judge in provenance.run.jury
    }
    return table_of(
        "Came to a verdict",
        report.judged,
        (
            TableColumn("judge", "name"),
            lambda judge: (
                judge_named(judge.key) + (f" (run {judge.run_number})" if several else "")
            ),
        ),
        (TableColumn("evaluations"), lambda judge: f"{judge.verdicts:,} of {judge.asked:,}"),
        (TableColumn("decisive"), lambda judge: counted(decisive.get(_place(judge)))),
        (TableColumn("answers"), lambda judge: _answers(costs.get(_place(judge)))),
        (TableColumn("cost"), lambda judge: _usd(costs.get(_place(judge)))),
    )


def _place(judge: JudgeCoverage) -> tuple[int, str]:
    return judge.run_number, judge.key


def _answers(cost: Cost | None) -> str:
    return "" if cost is None else f"{cost.answers:,}"


def _usd(cost: Cost | None) -> str:
    return "" if cost is None else usd_at_least(cost.cost_usd, cost.possibly_charged)


def _agreement(agreement: tuple[JudgeAgreement, ...]) -> Table:
    anything_left_out = any(raters.left_out for raters in agreement)
    return table_of(
        "Agreement beyond chance, on what both rated",
        agreement,
        (
            TableColumn("who", "name"),
            _pair,
        ),
        (TableColumn("on what", "text"), lambda raters: raters.what),
        (TableColumn("agree"), lambda raters: f"{raters.agreeing:,} of {raters.pairs:,}"),
        (
            TableColumn("left out"),
            lambda raters: counted(raters.left_out if anything_left_out else None),
        ),
        (
            TableColumn("Cohen's kappa"),
            lambda raters: "not defined" if raters.kappa is None else f"{raters.kappa:.2f}",
        ),
        (
            INTERVAL,
            lambda raters: " to ".join(f"{end:.2f}" for end in raters.interval or ()) or "–",
        ),
    )


def _lists(agreement: tuple[JudgeAgreement, ...]) -> Table:
    """The items that happened by list, as each two raters saw it."""
    of_lists = [(raters, of_list) for raters in agreement for of_list in raters.lists]
    return table_of(
        "Items that happened, by list",
        of_lists,
        (TableColumn("who", "name"), lambda row: _pair(row[0])),
        (TableColumn("list", "text"), lambda row: row[1].list),
        (TableColumn("both say so"), lambda row: f"{row[1].both:,}"),
        (TableColumn("only the first"), lambda row: f"{row[1].only_one:,}"),
        (TableColumn("only the second"), lambda row: f"{row[1].only_other:,}"),
        (TableColumn("neither"), lambda row: f"{row[1].neither:,}"),
    )


def _pair(raters: JudgeAgreement) -> str:
    return f"{judge_named(raters.one)} and {judge_named(raters.other)}"


def _disagreements(report: Report) -> Iterator[Block]:
    """A fold for each two raters with what they disagree on."""
    for raters in report.agreement:
        if not (differing := raters.pairs - raters.agreeing):
            continue
        listed = [
            disagreement
            for disagreement in report.disagreements
            if (disagreement.one, disagreement.other, disagreement.what)
            == (raters.one, raters.other, raters.what)
        ]
        blocks: list[Block] = [_listed(listed, several=len(report.asked) > 1)]
        if len(listed) < differing:
            commands = ", ".join(
                f"`{listing_command(provenance.run.run_number, raters)}`"
                for provenance in report.asked
            )
            blocks.append(Paragraph(f"{differing - len(listed):,} more: {commands}"))
        yield Collapsible(
            f"{_pair(raters)} disagree on {differing:,} of {raters.pairs:,} {raters.what}",
            (), tuple(blocks), on_paper=False,
        )  # fmt: skip


def _listed(disagreements: list[RaterDisagreement], *, several: bool) -> Table:
    return table_of(
        "Disagreements",
        disagreements,
        (TableColumn("case", "name"), lambda item: f"{item.suite}/{item.case}"),
        (TableColumn("run"), lambda item: str(item.run_number) if several else ""),
        (
            TableColumn("model", "text"),
            lambda item: item.model + (f", {item.repetition}" if item.repetition > 1 else ""),
        ),
        (
            TableColumn("item", "text"),
            lambda item: "" if item.item == VERDICT else f"{item.item}: {item.text}",
        ),
        (TableColumn("first", "text"), lambda item: _votes(item.votes[:-1])),
        (TableColumn("second", "text"), lambda item: _votes(item.votes[-1:])),
    )


def _votes(votes: tuple[Vote, ...]) -> str:
    return "; ".join(map(describe_vote, votes))
