"""`/runs/{run}/cost`: the cost of a run by model, purpose and attempt, and requests in vain."""

from __future__ import annotations

from collections.abc import Iterator

from failproof_es.catalogue.run import Spending
from failproof_es.catalogue.run_numbers import spending_of
from failproof_es.console.page import Page, PageModel, PageRequest
from failproof_es.console.paging import Query
from failproof_es.core.run import Run
from failproof_es.core.summary import RunSummary
from failproof_es.events import ModelPrices
from failproof_es.reading.run_costs import AttemptCost, Use, attempt_costs, uses_of
from failproof_es.report.data.builder import costs_of
from failproof_es.report.data.content import Cost
from failproof_es.store.reading.archives import require_attached
from failproof_es.support.document import Document


class Waste(Document):
    """Requests for one model under test and those without a result, judges' requests included.

    A request without an answer has no recorded usage, so its cost is unknown.
    """

    model: str
    requests: int
    answers: int
    failed_requests: int
    retries: int
    """Requests that repeated a failed or orphaned one."""
    orphaned_requests: int
    """Requests without a recorded outcome, because the process died."""
    lost_evaluations: int
    """Evaluations without a usable answer."""
    in_flight: int


class RunCostPage(PageModel):
    """The cost of a run. An unknown amount is `None`, never 0."""

    run_number: int
    name: str
    status: str
    remarks: tuple[str, ...]
    """Remarks that qualify its numbers."""
    ended: bool
    imported: bool
    """Whether another tool recorded the run: then nothing was asked or paid here."""
    total: Spending
    answers: int
    by_asked: tuple[Cost, ...]
    """Costs by the model or judge that answered, as in the report."""
    uses: tuple[Use, ...]
    waste: tuple[Waste, ...]
    attempts: tuple[AttemptCost, ...]
    carried_over: int
    """Evaluations carried over from another run, which bears their cost."""
    prices: tuple[ModelPrices, ...]
    """Recorded prices of each model and judge."""


def read_cost(request: PageRequest[Query]) -> RunCostPage:
    """The cost of the run that the path names."""
    connection, run = request.connection, request.run()
    summary = request.reader.summary(run, messages=0, reviews=False)
    require_attached(connection, run.started.originator_id)
    return RunCostPage.copy_of(
        run.started,
        run,
        as_of=request.as_of,
        remarks=request.remarks_on(run),
        imported=run.imported is not None,
        total=spending_of(summary),
        answers=summary.spent.answers,
        by_asked=tuple(costs_of(summary)),
        uses=tuple(uses_of(connection, request.reader, summary)),
        waste=tuple(_waste_by_model(summary)),
        attempts=attempt_costs(connection, request.reader, summary),
        carried_over=summary.asking().carried_over,
        prices=tuple(_prices(run)),
    )


def _waste_by_model(summary: RunSummary) -> Iterator[Waste]:
    for model in summary.models:
        asking = summary.asking(model)
        yield Waste.copy_of(
            asking,
            model=model,
            failed_requests=asking.errors,
            lost_evaluations=summary.group(model=model).lost,
        )


def _prices(run: Run) -> Iterator[ModelPrices]:
    recorded = run.prices or {}
    for model in (*run.started.models, *run.started.judges):
        yield recorded.get(model.key) or ModelPrices(model_key=model.key)


PAGE = Page(
    name="cost",
    path="/runs/{run}/cost",
    word="Cost",
    says="What a run cost, by model, purpose and attempt, and what was sent in vain.",
    read=read_cost,
)
