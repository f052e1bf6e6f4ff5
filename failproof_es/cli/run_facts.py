"""What a run amounts to: one pass over its events, for `show` and for the final table."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil
from statistics import fmean
from typing import Any
from uuid import UUID

from failproof_es.case import Case
from failproof_es.cli.progress_state import Price
from failproof_es.costs import Tokens, priced
from failproof_es.counting import counted
from failproof_es.engine.recorded import WINDOW
from failproof_es.evaluation import (
    Evaluation,
    EvaluationKey,
    ImpossibleHistory,
    evolve,
    left_to_people,
)
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
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.store.followed import followed
from failproof_es.tally import Group

_MESSAGES = 3
"""So many are told to people; `show --json` has all."""
CLASSES = ("pass", "fail", "refusal", "empty", "truncated", "error")
"""The classes of the `failproof` dialect, in the order in which tables show them."""


@dataclass(slots=True)
class SuiteFacts:
    """How one suite went with one model. Errors have no accuracy."""

    classes: Counter[str] = field(default_factory=Counter)
    finished: int = 0
    scored: int = 0
    cases: set[UUID] = field(default_factory=set)
    """Of which prompts: a case that was asked again is one case."""
    accuracies: Group = field(default_factory=Group)

    @property
    def accuracy(self) -> float | None:
        """The mean accuracy of the evaluations that have one."""
        return self.accuracies.accuracy

    @property
    def correct(self) -> float:
        """The sum of the accuracies."""
        return float(self.accuracies.accuracy_sum)

    def add(self, other: SuiteFacts) -> None:
        """Count another suite's evaluations in."""
        self.classes.update(other.classes)
        self.finished += other.finished
        self.cases |= other.cases
        self.scored += other.scored
        self.accuracies.include(other.accuracies)


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
    messages: Counter[str] = field(default_factory=Counter)
    """What servers answered to attempts that failed, the status before it."""
    input_tokens: Tokens = field(default_factory=Tokens)
    output_tokens: Tokens = field(default_factory=Tokens)
    cost: Fraction | None = None
    """`None` until an answer is known to have cost something, and from the first on that is not."""
    unpriced: int = 0
    """Answers of which it is not known what they cost."""
    latencies_ms: array[float] = field(default_factory=lambda: array("d"))
    impossible: list[ImpossibleHistory] = field(default_factory=list)
    """What cannot be true of what is counted, one for each evaluation."""

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
                self.messages[server_message(event)] += 1
            case AttemptLost():
                self.lost += 1
            case Classified():
                self._suite(event).classes[event.primary] += 1
            case Scored():
                suite = self._suite(event)
                suite.finished += 1
                suite.cases.add(event.prompt_id)
                suite.scored += 1
                suite.accuracies.add(event.scores.get("accuracy"))
            case EvaluationAbandoned():
                suite = self._suite(event)
                suite.finished += 1
                suite.cases.add(event.prompt_id)
                if left_to_people(event):
                    self.awaiting.append(event.originator_id)
            case CarriedOver():
                self.carried_over += 1

    @property
    def cost_usd(self) -> float | None:
        """What all answers cost; `None` where that of one is not known, or nothing was answered."""
        return None if self.cost is None or self.unpriced else float(self.cost)

    @property
    def models(self) -> tuple[str, ...]:
        """Whose evaluations have ended, by name."""
        return tuple(sorted({model for model, _ in self.by_suite}))

    def only(self, model: str) -> RunFacts:
        """The results of one model; what was sent and spent stays that of all."""
        return replace(
            self, by_suite={key: each for key, each in self.by_suite.items() if key[0] == model}
        )

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
        self.input_tokens.add(event.usage.input_tokens)
        self.output_tokens.add(event.usage.output_tokens)
        price = self.price(event) if self.price else None
        if price is None:
            self.unpriced += 1
        else:
            self.cost = (self.cost or Fraction(0)) + Fraction(price)


def gather(run: RecordedRun, price: Price | None) -> RunFacts:
    """The facts of a recorded run, in one pass over its events.

    Of what was carried over the outcome is counted, and no request, token or cost.
    """
    suites = {key.prompt_id: case.suite_id for key, case in _planned(run)}
    facts = RunFacts(suites, price)
    if priced(run.run.prices or {}, (model.key for model in run.started.models)):
        facts.cost = Fraction(0)
    carried_over: list[CarriedOver] = []
    histories = _Histories(facts.impossible)
    for row in run.events():
        event = row.event()
        facts.evolve(event)
        histories.add(event)
        if isinstance(event, CarriedOver):
            carried_over.append(event)
    for start in range(0, len(carried_over), WINDOW):
        window = carried_over[start : start + WINDOW]
        for history in followed(run.connection, window).values():
            for event in history:
                if isinstance(event, Classified | Scored | EvaluationAbandoned):
                    facts.evolve(event)
    return facts


def _planned(run: RecordedRun) -> Iterator[tuple[EvaluationKey, Case]]:
    return ((each.outcome.key, each.case) for each in run.outcomes())


@dataclass(slots=True)
class _Histories:
    """Holds each event to what it follows; remembers evaluations that are not finished only."""

    found: list[ImpossibleHistory]
    _open: dict[UUID, Evaluation] = field(default_factory=dict)
    _broken: set[UUID] = field(default_factory=set)

    def add(self, event: Event) -> None:
        stream = event.originator_id
        if stream == event.run_id or stream in self._broken:
            return
        try:
            state = evolve(self._open.pop(stream, Evaluation()), event)
        except ImpossibleHistory as error:
            self.found.append(error)
            self._broken.add(stream)
            return
        if not state.finished:
            self._open[stream] = state


def suite_rows(facts: RunFacts) -> list[dict[str, Any]]:
    """A row per model and suite, as the final table and `show --json` have it."""
    return [
        {"model": model, "suite": suite, **_row(numbers)}
        for (model, suite), numbers in sorted(facts.by_suite.items())
    ]


def total_row(facts: RunFacts) -> dict[str, Any]:
    """All suites together, by case."""
    return {"model": "", "suite": "total", **_row(facts.total)}


def model_rows(facts: RunFacts) -> list[dict[str, Any]]:
    """A row per model, all its suites together, and beside it the mean of its suites."""
    return [
        total_row(of) | {"model": model, "mean_of_suites": of.mean_of_suite_means}
        for model in facts.models
        for of in (facts.only(model),)
    ]


def _row(suite: SuiteFacts) -> dict[str, Any]:
    return {
        "cases": len(suite.cases),
        "evaluations": suite.finished,
        **{name: suite.classes.get(name, 0) for name in CLASSES},
        "classes": dict(suite.classes),
        "correct": suite.correct,
        "scored": suite.accuracies.measured,
        "accuracy": suite.accuracy,
    }


def server_message(error: ErrorRecorded) -> str:
    """What a server said: its status and the message, in one line."""
    said = " ".join(error.message.split()) or error.kind
    return said if error.status is None or str(error.status) in said else f"{error.status}: {said}"


def told_messages(facts: RunFacts) -> str:
    """The first distinct messages of servers, how often each came, and how many more there are."""
    named = [f"{said} ({count:,})" for said, count in list(facts.messages.items())[:_MESSAGES]]
    more = len(facts.messages) - _MESSAGES
    return "; ".join(named) + (f"; and {counted(more, 'other message')}" if more > 0 else "")
