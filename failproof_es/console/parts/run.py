"""Models of the page of a run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from pydantic import Field

from failproof_es.catalogue.run import RunDocument, Spending
from failproof_es.catalogue.run_numbers import in_order
from failproof_es.catalogue.wording import usd
from failproof_es.console.page import PageModel
from failproof_es.core.run import Run
from failproof_es.core.summary import RunSummary
from failproof_es.core.tally import Group
from failproof_es.engine.workers.presence import Undriven
from failproof_es.gate_words import describe_gate
from failproof_es.gates import judges_results
from failproof_es.reading.listed_runs import TrendPoint
from failproof_es.support.document import Document
from failproof_es.support.plurals import plural

MOST_APART = 3
"""Most models whose rates are among the first numbers; else these link to the table of models."""


MOST_FAILED_GROUPS = 5
"""Most groups of cases that the page names because they failed."""
MOST_READ = 5_000
"""Most planned evaluations for which the page shows numbers that read each of them."""
MOST_LIVE_SUITES = 200
"""Most rows of suites that are updated live. A page with more says that they are not."""


class ModelTrend(Document):
    """One model in the newest attempts of the experiment, in order."""

    model: str
    points: tuple[TrendPoint, ...]
    change: float | None
    """The rate of this run less that of the attempt before."""


class FailedGroup(Document):
    """Failures of one model in one category of a suite."""

    model: str
    suite: str
    category: str | None
    failed: int
    total: int
    """Evaluations that passed or failed."""


class NextStep(Document):
    """An action open to a person for the run now, and its command."""

    says: str
    command: str


class RunPage(RunDocument, PageModel):
    """The document of a run, with the additional fields of its page."""

    trends: tuple[ModelTrend, ...]
    """Trend of each model; empty for a single attempt."""
    failed_most: tuple[FailedGroup, ...]
    """The groups with most failures first, at most `MOST_FAILED_GROUPS`."""
    more_failed: int
    """Failures in other groups."""
    next_steps: tuple[NextStep, ...]
    shape: str = Field(exclude=True)
    """Fingerprint of the page's rows and columns; numbers alone do not change it."""

    @property
    def class_names(self) -> tuple[str, ...]:
        """Classes that occur, in the order of tables."""
        return tuple(in_order(sum((Counter(model.classes) for model in self.by_model), Counter())))

    @property
    def gates_told(self) -> Iterator[tuple[bool, str]]:
        """For each gate, whether it is met, and its description."""
        for name, gate in self.gates.items():
            yield gate["met"], describe_gate(name, gate)

    @property
    def gates_judged(self) -> tuple[str, str]:
        """The tone and the words of all gates: good only if a gate on results is met."""
        met, gates = sum(met for met, _ in self.gates_told), len(self.gates)
        words = f"{met} of {gates} met"
        if met < gates:
            return "bad", words
        if judges_results(self.gates):
            return "good", words
        return "plain", words if self.people_judge else f"{words}, none on pass rates or severities"

    @property
    def cost_note(self) -> str:
        """The known part of the cost; empty where all of it is known."""
        return cost_note(self.spending)

    @property
    def suites_live(self) -> bool:
        """Whether the rows of suites are updated live."""
        return len(self.by_suite) <= MOST_LIVE_SUITES

    @property
    def rates_apart(self) -> bool:
        """Whether the rate of each model is among the first numbers."""
        return len(self.by_model) <= MOST_APART


def failed_groups(summary: RunSummary) -> list[FailedGroup]:
    """The groups of cases in which something failed, those with most failures first."""
    sums = defaultdict[tuple[str, str, str | None], Group](Group)
    for key, group in summary.counts.groups.items():
        sums[key.model_key, key.suite_id, key.category].include(group)
    groups = [
        FailedGroup(
            model=model,
            suite=suite,
            category=category,
            failed=group.failed,
            total=group.passed + group.failed,
        )
        for (model, suite, category), group in sums.items()
        if group.failed
    ]
    return sorted(groups, key=lambda group: (-group.failed, group.total, group.model, group.suite,
                                             group.category or ""))  # fmt: skip


def next_steps(
    run: Run, summary: RunSummary, undriven: Undriven | None = None
) -> Iterator[NextStep]:
    """What is left to do about the run: the most urgent first.

    `undriven` is that of the run's document.
    """
    number, total = run.started.run_number, summary.total
    if undriven is not None:
        says = f"Go on: {undriven.says}"
        yield NextStep(says=says, command=undriven.command(number))
    if run.status == "paused":
        more = " --max-spend USD" if run.at_ceiling else ""
        yield NextStep(says="Resume it", command=f"failproof-es resume {number}{more}")
        yield NextStep(says="Give it up", command=f"failproof-es give-up {number}")
    if run.status == "failed":
        again = f"failproof-es resume {number} --again errors"
        yield NextStep(says="Ask what is missing in a new run", command=again)
    if total.awaiting and run.ended:
        review = f"failproof-es review {number}"
        yield NextStep(says=f"Review {plural(total.awaiting, 'evaluation')}", command=review)
    if total.missing and run.ended and run.status != "failed":
        again = f"failproof-es resume {number} --retry-abandoned"
        says = f"Ask {plural(total.missing, 'abandoned evaluation')} again in a new run"
        yield NextStep(says=says, command=again)


def cost_note(spending: Spending) -> str:
    """The known part of the cost; empty where all of it is known."""
    if spending.cost_usd is not None:
        return ""
    known_cost = f"{usd(spending.known_usd)} known" if spending.known_usd else ""
    missing = f"unpriced: {spending.unpriced_answers:,}" if spending.unpriced_answers else ""
    return ", ".join(filter(None, (known_cost, missing)))
