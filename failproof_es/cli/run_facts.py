"""What a run amounts to: one pass over its events, for `show` and for the final table."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from statistics import fmean
from typing import Any
from uuid import UUID

from failproof_es.cli.progress_state import Price
from failproof_es.cli.recorded_run import RecordedRun
from failproof_es.engine.carried_over import followed
from failproof_es.engine.recorded import WINDOW
from failproof_es.evaluation import left_to_people
from failproof_es.events import (
    AttemptLost,
    CarriedOver,
    Classified,
    ErrorRecorded,
    EvaluationAbandoned,
    EvaluationEvent,
    Event,
    RequestSent,
    ResponseReceived,
    Scored,
)

CLASSES = ("pass", "fail", "refusal", "empty", "truncated", "error")
"""The classes of the `failproof` dialect, in the order in which tables show them."""


@dataclass(slots=True)
class SuiteFacts:
    """How one suite went with one model. Errors have no accuracy."""

    classes: Counter[str] = field(default_factory=Counter)
    finished: int = 0
    scored: int = 0
    accuracy_count: int = 0
    accuracy_sum: float = 0.0

    @property
    def accuracy(self) -> float | None:
        """The mean accuracy of the evaluations that have one."""
        return self.accuracy_sum / self.accuracy_count if self.accuracy_count else None

    def add(self, other: SuiteFacts) -> None:
        """Count another suite's evaluations in."""
        self.classes.update(other.classes)
        self.finished += other.finished
        self.scored += other.scored
        self.accuracy_count += other.accuracy_count
        self.accuracy_sum += other.accuracy_sum


@dataclass(slots=True)
class RunFacts:
    """Everything that `show` says, folded from the run's events by `evolve`."""

    suite_of: Mapping[UUID, str]
    price: Price | None = None
    by_suite: dict[tuple[str, str], SuiteFacts] = field(default_factory=dict)
    """By model key and suite id."""
    requests: int = 0
    retries: int = 0
    carried_over: int = 0
    """Evaluations of another run; what they cost was counted there."""
    lost: int = 0
    awaiting: list[UUID] = field(default_factory=list)
    """Evaluations that were left to people."""
    errors: Counter[str] = field(default_factory=Counter)
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = 0.0
    latencies_ms: array[float] = field(default_factory=lambda: array("d"))

    def evolve(self, event: Event) -> None:
        """Count one more event of the run."""
        match event:
            case RequestSent():
                self.requests += 1
                self.retries += event.attempt > 1
            case ResponseReceived():
                self._answered(event)
            case ErrorRecorded():
                self.errors[event.kind] += 1
            case AttemptLost():
                self.lost += 1
            case Classified():
                self._suite(event).classes[event.primary] += 1
            case Scored():
                suite = self._suite(event)
                suite.finished += 1
                suite.scored += 1
                accuracy = event.scores.get("accuracy")
                if accuracy is not None:
                    suite.accuracy_count += 1
                    suite.accuracy_sum += accuracy
            case EvaluationAbandoned():
                self._suite(event).finished += 1
                if left_to_people(event):
                    self.awaiting.append(event.originator_id)
            case CarriedOver():
                self.carried_over += 1

    @property
    def total(self) -> SuiteFacts:
        """All suites and models together: the totals by case."""
        total = SuiteFacts()
        for suite in self.by_suite.values():
            total.add(suite)
        return total

    @property
    def mean_of_suite_means(self) -> float | None:
        """Every suite counts alike, however many cases it has and models it was put to."""
        suites: dict[str, SuiteFacts] = {}
        for (_, suite_id), facts in self.by_suite.items():
            suites.setdefault(suite_id, SuiteFacts()).add(facts)
        means = [suite.accuracy for suite in suites.values() if suite.accuracy is not None]
        return fmean(means) if means else None

    def latency_ms(self, percent: float) -> float | None:
        """The latency that `percent` of the responses stayed within (nearest rank)."""
        if not self.latencies_ms:
            return None
        ordered = sorted(self.latencies_ms)
        return ordered[max(ceil(len(ordered) * percent / 100), 1) - 1]

    def _suite(self, event: EvaluationEvent) -> SuiteFacts:
        key = (event.model_key, self.suite_of.get(event.prompt_id, "?"))
        suite = self.by_suite.get(key)
        if suite is None:
            suite = self.by_suite[key] = SuiteFacts()
        return suite

    def _answered(self, event: ResponseReceived) -> None:
        self.latencies_ms.append(event.latency_ms)
        self.input_tokens = _plus(self.input_tokens, event.usage.input_tokens)
        self.output_tokens = _plus(self.output_tokens, event.usage.output_tokens)
        price = self.price(event) if self.price else None
        if self.cost_usd is not None:
            self.cost_usd = None if price is None else self.cost_usd + price


def gather(run: RecordedRun, price: Price | None) -> RunFacts:
    """The facts of a recorded run, in one pass over its events.

    Of what was carried over the outcome is counted, and no request, token or cost.
    """
    facts = RunFacts(run.suites_by_prompt(), price)
    carried_over: list[CarriedOver] = []
    for row in run.events():
        event = row.event()
        facts.evolve(event)
        if isinstance(event, CarriedOver):
            carried_over.append(event)
    for start in range(0, len(carried_over), WINDOW):
        window = carried_over[start : start + WINDOW]
        for history in followed(run.connection, window).values():
            for event in history:
                if isinstance(event, Classified | Scored | EvaluationAbandoned):
                    facts.evolve(event)
    return facts


def suite_rows(facts: RunFacts) -> list[dict[str, Any]]:
    """A row per model and suite, as the final table and `show --json` have it."""
    return [
        {"model": model, "suite": suite, **_row(numbers)}
        for (model, suite), numbers in sorted(facts.by_suite.items())
    ]


def total_row(facts: RunFacts) -> dict[str, Any]:
    """All suites together, by case."""
    return {"model": "", "suite": "total", **_row(facts.total)}


def _row(suite: SuiteFacts) -> dict[str, Any]:
    return {
        "cases": suite.finished,
        **{name: suite.classes.get(name, 0) for name in CLASSES},
        "classes": dict(suite.classes),
        "correct": suite.accuracy_sum,
        "scored": suite.accuracy_count,
        "accuracy": suite.accuracy,
    }


def _plus(total: int | None, part: int | None) -> int | None:
    return total if part is None else (total or 0) + part
