"""The state of a running run: a fold over its events, independent of any terminal.

Every number is counted as in a `RunSummary`, by the same definitions. The cost of
counting an event depends on that event alone.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Literal
from uuid import UUID

from failproof_es.cli.progress.error_groups import ErrorGroups
from failproof_es.cli.progress.model_progress import ModelProgressState, Pace, RateLimit
from failproof_es.configuration.recorded import recorded_configuration
from failproof_es.core.costs import Prices, Spent, priced
from failproof_es.core.evaluation import Evaluation, JudgeVerdict
from failproof_es.core.outcome import EvaluationOutcome, outcome_of
from failproof_es.core.spend import Outcome, spending_of, written_usd
from failproof_es.core.summary import RunSummary, add_to_group
from failproof_es.core.unscored import unscored_group
from failproof_es.engine.history import RecordedEvaluation
from failproof_es.events import (
    EVENTS,
    AttemptOrphaned,
    CarriedOver,
    Classified,
    ErrorRecorded,
    EvaluationAbandoned,
    EvaluationEvent,
    Event,
    Judged,
    LimitChanged,
    PricesRecorded,
    RequestSent,
    ResponseReceived,
    RunCompleted,
    RunFailed,
    RunPaused,
    RunResumed,
    RunSealed,
    RunStarted,
    RunValidated,
    Scored,
    SpendCeilingChanged,
)
from failproof_es.store.outage import OutageReport

Phase = Literal["planning", "evaluating", "validating", "sealing", "completed", "failed", "paused"]
"""The phase of a drive: checking and storing cases, asking models, validating the record, sealing
the record, and the end.
"""

RATE_WINDOW_S = 30.0
"""Seconds over which a rate is measured, so that it follows a provider's changes; longer if too few
evaluations finish in that time.
"""
ENOUGH_FINISHED = 5
ENOUGH_SECONDS = 2.0

OBSERVED = tuple(topic for topic, kind in EVENTS.items() if kind.tells_progress)
"""The topics that affect progress."""


@dataclass(slots=True)
class _UnfinishedEvaluation:
    """The state of an evaluation until it is finished."""

    class_: str | None = None
    last_error: ErrorRecorded | None = None
    """`None` once a later answer came, or a judge's answer was read."""
    verdicts: tuple[JudgeVerdict, ...] = ()


class ProgressState:
    """The progress of a run, with the numbers of each model, made from its events.

    Call `observe` with each event, and `pace` at each repaint. `clock` returns monotonic seconds,
    `now` the time.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.models: dict[str, ModelProgressState] = {}
        self.run_id: UUID | None = None
        self.run_number: int | None = None
        self.name: str | None = None
        self._phase: Phase = "planning"
        self.errors = ErrorGroups()
        self._prices: Prices = {}
        self._open: dict[UUID, _UnfinishedEvaluation] = {}
        self._sent: dict[UUID, RequestSent] = {}
        """The requests in flight, by evaluation."""
        self._clock = clock
        self._now = now
        self._ceiling: int | None = None
        self.max_spend_usd: Decimal | None = None
        """The run's spend ceiling; `None` without one."""
        self._limits: dict[str, LimitChanged] = {}
        """The last change of the limit, by the key of each model and judge of the server."""
        self._samples: dict[str, deque[tuple[float, int]]] = {}
        self._ended: RunCompleted | RunFailed | None = None
        self._began = clock()
        self.outage: OutageReport | None = None
        """Knows whether the database is away; `None` where nobody reports that."""

    def observe(self, event: Event) -> None:
        """Count one event of the run. Events that do not affect progress are ignored."""
        match event:
            case RequestSent():
                model = self._model(event.model_key)
                model.in_flight.add(event.originator_id)
                self._sent[event.originator_id] = event
                model.spent.include(self._spent_on(event))
                model.asking.requests += 1
                model.asking.retries += event.attempt > 1
            case ResponseReceived():
                model = self._model(event.model_key)
                self._end_request(event)
                model.asking.answers += 1
                self.errors.is_waiting = False
                if (open_ := self._open.get(event.originator_id)) is not None:
                    open_.last_error = None
            case ErrorRecorded():
                model = self._model(event.model_key)
                self._end_request(event)
                model.asking.errors += 1
                self._unfinished_state(event).last_error = event
                self.errors.add(event)
            case AttemptOrphaned():
                model = self._model(event.model_key)
                self._end_request(event)
                model.asking.orphaned_requests += 1
            case Classified():
                self._unfinished_state(event).class_ = event.primary
            case Judged():
                open_ = self._unfinished_state(event)
                open_.last_error = None
                if event.final:
                    verdict = JudgeVerdict(event.judge, event.verdict, event.problem)
                    open_.verdicts = (*open_.verdicts, verdict)
            case Scored() | EvaluationAbandoned():
                self._finish(event)
            case CarriedOver():
                self._model(event.model_key).asking.carried_over += 1
            case PricesRecorded():
                self.use_prices({prices.model_key: prices for prices in event.models})
            case LimitChanged():
                # a new object, because another thread displays the old one
                self._limits = {**self._limits, **dict.fromkeys(event.models, event)}
            case SpendCeilingChanged():
                self.max_spend_usd = event.max_spend_usd
            case RunStarted():
                self._begin(event)
            case RunResumed():
                self._phase = "evaluating"
            case RunCompleted() | RunFailed():
                self._phase, self._ended = "validating", event
            case RunValidated():
                self._phase = "sealing"
            case RunSealed():
                self._phase = "failed" if isinstance(self._ended, RunFailed) else "completed"
            case RunPaused():
                self._phase = "paused"

    def carry_over(self, recorded: RecordedEvaluation) -> None:
        """Count the outcome of an evaluation that was carried over from another run.

        Its `CarriedOver` event, which `observe` takes, counts it as carried over. Its requests are
        not counted.
        """
        outcome = outcome_of(
            recorded.key,
            recorded.history,
            {},
            carried_over=recorded.carried_over,
            broken=recorded.broken,
        )
        if outcome.finished:
            model = self._model(outcome.model_key)
            model.carried_over += 1
            add_to_group(model.group, outcome)

    def restore(self, summary: RunSummary) -> None:
        """Count the progress that a summary of the run has; call it once, before any event.

        A summary lacks errors by message and the state of unfinished evaluations: see `errors` and
        `remember`. It has the spending for each model only if the run has no judges.
        """
        for key in summary.models:
            model = self._model(key)
            model.group.include(summary.group(model=key))
            model.asking.include(summary.asking(key))
            model.asking.in_flight = 0  # known from each evaluation instead
            model.carried_over = model.asking.carried_over
            model.spent.include(summary.spent_on(key))

    def remember(self, recorded: RecordedEvaluation) -> None:
        """Restore the state of an evaluation that began before this process drives the run.

        Counts nothing.
        """
        state = ProgressState(self._clock, self._now)
        for event in recorded.history:
            state.observe(event)
        self._open.update(state._open)
        self._sent.update(state._sent)
        for key, model in state.models.items():
            self._model(key).in_flight |= model.in_flight

    def name_run(self, started: RunStarted) -> None:
        """Set the run's name and number before any of its events is counted."""
        self.run_id, self.run_number = started.run_id, started.run_number
        self.name = started.name

    def adopt(self, counted: ProgressState) -> None:
        """Replace this state by that of `counted`, but for its beginning and its outage report.

        A thread that displays this state sees all or nothing of it.
        """
        vars(self).update({**vars(counted), "_began": self._began, "outage": self.outage})

    def use_prices(self, prices: Prices) -> None:
        """Set the prices on record, by which the costs of further answers are computed."""
        self._prices = prices
        for model in self.models.values():
            model.priced = priced(prices, [model.key])

    @property
    def phase(self) -> Phase:
        """The current phase.

        After the last evaluation it is `validating`: the record is read, for the gates.
        """
        if self._phase == "evaluating" and 0 < self.planned <= self.finished:
            return "validating"
        return self._phase

    @property
    def planned(self) -> int:
        """The number of planned evaluations of all models."""
        return sum(model.planned for model in list(self.models.values()))

    @property
    def finished(self) -> int:
        """The number of evaluations of all models that have their final result."""
        return sum(model.finished for model in list(self.models.values()))

    @property
    def total(self) -> ModelProgressState:
        """The progress of all models together; its key is empty."""
        return ModelProgressState.of_all("", list(self.models.values()))

    @property
    def elapsed_s(self) -> float:
        """Seconds since this state was created, when this process began to drive the run."""
        return self._clock() - self._began

    @property
    def seconds_left(self) -> float | None:
        """Estimated seconds until the last model is done; models run in parallel.

        `None` while the pace of one is unknown.
        """
        estimates = [self.pace(key).seconds_left for key in list(self.models)]
        known_estimates = [seconds for seconds in estimates if seconds is not None]
        return (
            max(known_estimates) if estimates and len(known_estimates) == len(estimates) else None
        )

    def pace(self, key: str) -> Pace:
        """The pace of the model with this key.

        Each call takes a sample, so call it at every repaint.
        """
        model = self._model(key)
        now = self._clock()
        samples = self._samples.setdefault(key, deque())
        done_here = model.finished_here
        samples.append((now, done_here))
        while len(samples) > 2 and self._is_enough(samples[1], done_here, now):
            samples.popleft()
        elapsed = now - samples[0][0]
        done = done_here - samples[0][1]
        if elapsed < ENOUGH_SECONDS or done < ENOUGH_FINISHED:
            return Pace(None, 0.0 if model.planned and model.finished >= model.planned else None)
        per_second = done / elapsed
        left_s = max(model.planned - model.finished, 0) / per_second
        return Pace(per_second, left_s + (self.rate_limit(key).held_s if left_s else 0.0))

    def rate_limit(self, key: str) -> RateLimit:
        """The current limit of the server of the model with this key, or of `judge:KEY`."""
        last = self._limits.get(key)
        if last is None:
            return RateLimit(self._ceiling, self._ceiling, None, 0.0)
        left_s = (last.held_until - self._now()).total_seconds() if last.held_until else 0.0
        held_until = last.held_until if left_s > 0 else None
        return RateLimit(last.limit_after, self._ceiling, held_until, max(left_s, 0.0))

    def judge_limits(self) -> dict[str, RateLimit]:
        """The changed limits of servers that only judges use, by `judge:KEY`."""
        return {
            key: self.rate_limit(key)
            for key, last in self._limits.items()
            if key not in self.models and self.models.keys().isdisjoint(last.models)
        }

    @staticmethod
    def _is_enough(sample: tuple[float, int], finished: int, now: float) -> bool:
        """Whether the rate can be measured from `sample` on, without earlier samples.

        A sample is a time and the number finished by then; `finished` is the number at `now`.
        """
        return sample[0] <= now - RATE_WINDOW_S and finished - sample[1] >= ENOUGH_FINISHED

    def _begin(self, event: RunStarted) -> None:
        self.name_run(event)
        self._phase = "evaluating"
        execution = recorded_configuration(event).execution
        self._ceiling = execution.parallel_workers
        if execution.max_spend_usd is not None:
            self.max_spend_usd = written_usd(execution.max_spend_usd)
        for snapshot in event.models:
            self._model(snapshot.key).planned = event.planned_evaluations // len(event.models)

    def _model(self, key: str) -> ModelProgressState:
        model = self.models.get(key)
        if model is None:
            model = ModelProgressState(key, priced=priced(self._prices, [key]))
            self.models[key] = model
        return model

    def _end_request(self, outcome: Outcome) -> None:
        """Replace the most that the request may cost by the cost with this outcome."""
        model = self._model(outcome.model_key)
        model.in_flight.discard(outcome.originator_id)
        request = self._sent.pop(outcome.originator_id, None)
        if request is not None:
            model.spent.include(self._spent_on(request), -1)
        model.spent.include(self._spent_on(*filter(None, (request,)), outcome))

    def _spent_on(self, *history: Event) -> Spent:
        """The usage and cost of a request by its events; nothing if it costs nothing."""
        charged = spending_of(history, self._prices)
        return charged[0].spent if charged else Spent()

    def _unfinished_state(self, event: EvaluationEvent) -> _UnfinishedEvaluation:
        return self._open.setdefault(event.originator_id, _UnfinishedEvaluation())

    def _finish(self, event: Scored | EvaluationAbandoned) -> None:
        """Count the evaluation for its model, by the same rules as a summary."""
        open_ = self._open.pop(event.originator_id, _UnfinishedEvaluation())
        model = self._model(event.model_key)
        scored = isinstance(event, Scored)
        ended = Evaluation(
            abandoned=None if isinstance(event, Scored) else event,
            verdicts=open_.verdicts,
            last_error=open_.last_error,
        )
        outcome = EvaluationOutcome(
            evaluation_id=event.originator_id,
            run_id=event.originator_id if event.run_id is None else event.run_id,
            prompt_id=event.prompt_id,
            model_key=event.model_key,
            repetition=event.repetition,
            status="scored" if scored else "abandoned",
            unscored_as=unscored_group(ended),
            class_=open_.class_,
            scores=event.scores if isinstance(event, Scored) else {},
            passed=event.passed if isinstance(event, Scored) else None,
        )
        add_to_group(model.group, outcome)
