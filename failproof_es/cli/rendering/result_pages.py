"""Pages of a run's results: a part of its plan, or results that conditions choose, in an order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from failproof_es.catalogue.result import RecordedResult
from failproof_es.cli.rendering.output import say
from failproof_es.cli.rendering.result_columns import WORST_FIRST, ResultOrder
from failproof_es.exports.exporter import require_possible
from failproof_es.problems import InvalidInput
from failproof_es.reading.chosen_places import chosen_outcomes
from failproof_es.reading.recorded_run import PlannedOutcome, RecordedRun
from failproof_es.reading.result_conditions import Conditions
from failproof_es.reading.sorted_results import (
    MOST_SORTED,
    SortKey,
    TooManyToSort,
    sort_results,
    worst_first,
)


@dataclass(slots=True)
class PlanPage:
    """A page of a run's results: the first `limit` chosen ones after the plan's place `after`.

    Places count from 1. `None` as `limit` means all. With an `order` the results are sorted, and
    `after` is a number of sorted results.
    """

    run: RecordedRun
    after: int = 0
    limit: int | None = None
    choice: Conditions = field(default_factory=Conditions)
    order: ResultOrder | None = None
    places: deque[int] = field(init=False)
    """The places in the plan of the results that were read, the last `limit` of them."""

    def __post_init__(self) -> None:
        self.places = deque(maxlen=self.limit or 0)

    @property
    def is_whole(self) -> bool:
        """Whether it is the whole plan."""
        return self.is_of_plan and not self.after and self.limit is None

    @property
    def is_of_plan(self) -> bool:
        """Whether the page shows a part of the plan in its own order, unfiltered and unsorted."""
        return not self.choice.choose and self.order is None

    @property
    def names_cases(self) -> bool:
        """Whether only cases with given ids are chosen."""
        return bool(self.choice.named.get("case"))


def results_of(page: PlanPage) -> Iterator[PlannedOutcome]:
    """The results of the page; the place of each in the plan is added to its `places`.

    Raises `ImpossibleHistory` if the record of an evaluation contradicts itself.
    """
    run = page.run
    if page.order is not None:
        results_of_page = _sorted_results(page, page.order)
    elif not page.choice.choose:
        results_of_page = run.outcomes(after=page.after, limit=page.limit)
    else:
        results_of_page = islice(chosen_outcomes(run, page.choice, after=page.after), page.limit)
    for planned in results_of_page:
        require_possible(planned.outcome)
        page.places.append(planned.place)
        yield planned


def _sorted_results(page: PlanPage, order: ResultOrder) -> Iterator[PlannedOutcome]:
    def key_of(planned: PlannedOutcome) -> SortKey:
        return order.key_of(RecordedResult.of(planned, page.run))

    run = page.run
    chosen = chosen_outcomes(run, page.choice)
    key = worst_first if order is WORST_FIRST else key_of
    try:
        yield from sort_results(run, chosen, key, after=page.after, limit=page.limit)
    except TooManyToSort:
        if order is WORST_FIRST:
            say(f"more than {MOST_SORTED:,} results fit: they are in the order of the plan")
            in_plan_order = islice(chosen_outcomes(run, page.choice), page.after, None)
            yield from islice(in_plan_order, page.limit)
            return
        message = f"more than {MOST_SORTED:,} results fit, too many to sort"
        remedy = "choose fewer, or print the first ones with --limit"
        raise InvalidInput.because(
            "limit-exceeded", message, field="--sort", remedy=remedy
        ) from None
