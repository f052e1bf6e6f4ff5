"""The cost of several runs together."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from uuid import UUID

from failproof_es.core.costs import Spent
from failproof_es.core.summary import RunTotals
from failproof_es.reading.result_reader import RunInArchive, UnreadableRun
from failproof_es.reading.run_costs import UnpricedAnswers, total_cost
from tests.unit.histories import a_case
from tests.unit.summaries import summary_of, that_took


def run_that_took(number: int, **spending: Spent) -> RunTotals:
    totals = summary_of({"m": [(a_case(), that_took(**spending))]}).totals
    started = totals.run.started.model_copy(update={"run_number": number})
    return replace(totals, run=replace(totals.run, manifest=started))


def test_the_costs_of_runs_add_up_exactly_and_unpriced_answers_are_named() -> None:
    tenth = Spent(answers=1, known_usd=Decimal("0.1"))
    priced = [run_that_took(1, m=tenth), run_that_took(2, m=tenth, judge=tenth)]
    total = total_cost(priced)
    assert (total.runs, total.answers, total.cost_usd, total.known_usd) == (2, 3, 0.3, 0.3)
    assert (total.unpriced, total.uncounted, total.possibly_charged) == ((), (), 0)

    some = Spent(answers=3, known_usd=Decimal("0.1"), unpriced=2)
    total = total_cost([run_that_took(4, judge=some), run_that_took(3, judge=some), *priced])
    assert (total.cost_usd, total.known_usd, total.answers) == (None, 0.5, 9)
    assert total.unpriced == (UnpricedAnswers("judge", 4, (3, 4)),)


def test_a_run_that_cannot_be_counted_is_named_and_the_total_is_unknown() -> None:
    lost = run_that_took(1, m=Spent(possibly_charged=2))
    archived = RunInArchive(UUID(int=8), 5, "in a file", lost.run)
    total = total_cost([UnreadableRun(UUID(int=9), 7, "damaged"), archived, lost])
    assert (total.runs, total.cost_usd, total.known_usd) == (3, None, 0.0)
    assert (total.uncounted, total.damaged, total.possibly_charged) == ((5, 7), (7,), 2)
