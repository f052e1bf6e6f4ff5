"""How a run stands while it is running: a fold over its events, without any terminal."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Literal
from uuid import UUID

from failproof_es.cli.error_groups import ErrorGroups
from failproof_es.configuration.recorded import recorded_configuration
from failproof_es.evaluation import left_to_people
from failproof_es.events import (
    EVENTS,
    AttemptLost,
    CarriedOver,
    Classified,
    ErrorRecorded,
    EvaluationAbandoned,
    Event,
    LimitChanged,
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
)

Phase = Literal["planning", "evaluating", "validating", "sealing", "completed", "failed", "paused"]
"""What a drive is at: cases are checked and stored; models are asked; the record is read again;
it is sealed; how it ended."""

RATE_WINDOW_S = 30.0
"""The rate is that of the last half minute, so that it follows a provider's mood; of a
longer time where that is too short to finish anything."""
ENOUGH_FINISHED = 5
ENOUGH_SECONDS = 2.0

OBSERVED = tuple(topic for topic, kind in EVENTS.items() if kind.tells_progress)
"""The topics that say something about progress."""

Price = Callable[[ResponseReceived], Decimal | float | None]
"""What an answer cost in USD; `None` when that is not known."""


@dataclass(slots=True)
class ModelProgress:
    """One model's row. `planned` counts evaluations: cases x repetitions."""

    key: str
    planned: int = 0
    scored: int = 0
    abandoned: int = 0
    awaiting: int = 0
    """Left to people: answered, and no error."""
    passed: int = 0
    refused: int = 0
    retries: int = 0
    carried_over: int = 0
    """Finished already in the run that this one was branched from."""
    cost: Fraction | None = None
    unpriced: int = 0
    """Answers whose price is unknown."""
    in_flight: set[UUID] = field(default_factory=set)

    @property
    def cost_usd(self) -> float | None:
        """`None` before the first answer, and from the first on whose price is unknown."""
        return None if self.cost is None or self.unpriced else float(self.cost)

    @property
    def finished(self) -> int:
        """Evaluations that have their one final result."""
        return self.scored + self.abandoned + self.awaiting + self.carried_over

    @property
    def error_rate(self) -> float | None:
        """The share of this run's own finished evaluations that ended without a score."""
        return share(self.abandoned, self.scored + self.abandoned + self.awaiting)


@dataclass(frozen=True, slots=True)
class Pace:
    """Finished evaluations per second, and the seconds left; `None` until enough is known."""

    per_second: float | None
    seconds_left: float | None


@dataclass(frozen=True, slots=True)
class RateLimit:
    """How many requests a server takes at once, of how many, and until when it wants none."""

    allowed: int | None
    """`None` where neither the run nor its server has said so."""
    ceiling: int | None
    held_until: datetime | None
    held_s: float
    """The seconds of `held_until` that are left, 0 where nothing is held."""


Pricing = Callable[[RunStarted], Price]
"""From what a run set out with to the prices of its models."""


class ProgressState:
    """Fold events into a row per model. `observe` is cheap; `pace` is asked at each repaint."""

    def __init__(
        self,
        pricing: Pricing | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.models: dict[str, ModelProgress] = {}
        self.run_id: UUID | None = None
        self.run_number: int | None = None
        self.name: str | None = None
        self.phase: Phase = "planning"
        self.errors = ErrorGroups()
        self._pricing = pricing
        self._price: Price | None = None
        self._clock = clock
        self._now = now
        self._ceiling: int | None = None
        self._limits: dict[str, LimitChanged] = {}
        """By the key of each model and judge that the server serves."""
        self._samples: dict[str, deque[tuple[float, int]]] = {}
        self._ended: RunCompleted | RunFailed | None = None
        self._began = clock()

    def observe(self, event: Event) -> None:
        """Count one event. Events that say nothing about progress are passed over."""
        match event:
            case RequestSent():
                model = self._model(event.model_key)
                model.in_flight.add(event.originator_id)
                model.retries += event.attempt > 1
            case ResponseReceived():
                model = self._model(event.model_key)
                model.in_flight.discard(event.originator_id)
                self._charge(model, event)
            case ErrorRecorded():
                self._model(event.model_key).in_flight.discard(event.originator_id)
                self.errors.add(event)
            case AttemptLost():
                self._model(event.model_key).in_flight.discard(event.originator_id)
            case Classified():
                self._model(event.model_key).refused += event.primary == "refusal"
            case Scored():
                model = self._model(event.model_key)
                model.scored += 1
                model.passed += event.scores.get("accuracy") == 1
            case EvaluationAbandoned():
                model, awaits = self._model(event.model_key), left_to_people(event)
                model.awaiting += awaits
                model.abandoned += not awaits
            case CarriedOver():
                self._model(event.model_key).carried_over += 1
            case LimitChanged():
                # a new one, because who shows it does so from another thread
                self._limits = {**self._limits, **dict.fromkeys(event.models, event)}
            case RunStarted():
                self._begin(event)
            case RunResumed():
                self.phase = "evaluating"
            case RunCompleted() | RunFailed():
                self.phase, self._ended = "validating", event
            case RunValidated():
                self.phase = "sealing"
            case RunSealed():
                self.phase = "failed" if isinstance(self._ended, RunFailed) else "completed"
            case RunPaused():
                self.phase = "paused"

    @property
    def planned(self) -> int:
        """Evaluations of all models."""
        return sum(model.planned for model in list(self.models.values()))

    @property
    def finished(self) -> int:
        """Those of them that have their one final result."""
        return sum(model.finished for model in list(self.models.values()))

    @property
    def elapsed_s(self) -> float:
        """Seconds since this drive began."""
        return self._clock() - self._began

    @property
    def seconds_left(self) -> float | None:
        """Until the last model is done: they go side by side. `None` while one is not known."""
        left = [self.pace(key).seconds_left for key in list(self.models)]
        known = [each for each in left if each is not None]
        return max(known) if left and len(known) == len(left) else None

    def pace(self, key: str) -> Pace:
        """The model's pace now. Each call takes a sample, so call it at every repaint."""
        model = self._model(key)
        now = self._clock()
        samples = self._samples.setdefault(key, deque())
        done_here = model.finished - model.carried_over
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
        """What the server of this model, or of `judge:KEY`, allows now."""
        last = self._limits.get(key)
        if last is None:
            return RateLimit(self._ceiling, self._ceiling, None, 0.0)
        left_s = (last.held_until - self._now()).total_seconds() if last.held_until else 0.0
        held_until = last.held_until if left_s > 0 else None
        return RateLimit(last.limit_after, self._ceiling, held_until, max(left_s, 0.0))

    def judge_limits(self) -> dict[str, RateLimit]:
        """Those of the judges whose server serves no model under test and has complained."""
        return {
            key: self.rate_limit(key)
            for key, last in self._limits.items()
            if key not in self.models and self.models.keys().isdisjoint(last.models)
        }

    @staticmethod
    def _is_enough(sample: tuple[float, int], finished: int, now: float) -> bool:
        """Whether the rate can be measured from `sample` on, without what came before it."""
        return sample[0] <= now - RATE_WINDOW_S and finished - sample[1] >= ENOUGH_FINISHED

    def _begin(self, event: RunStarted) -> None:
        self.run_id, self.run_number, self.name = event.run_id, event.run_number, event.name
        self.phase = "evaluating"
        self._ceiling = recorded_configuration(event).execution.parallel_workers
        self._price = self._pricing(event) if self._pricing else None
        for snapshot in event.models:
            self._model(snapshot.key).planned = event.planned_evaluations // len(event.models)

    def _model(self, key: str) -> ModelProgress:
        model = self.models.get(key)
        if model is None:
            model = self.models[key] = ModelProgress(key)
        return model

    def _charge(self, model: ModelProgress, event: ResponseReceived) -> None:
        price = self._price(event) if self._price else None
        if price is None:
            model.unpriced += 1
        else:
            model.cost = (model.cost or Fraction(0)) + Fraction(price)


def share(part: int, whole: int) -> float | None:
    """From 0 to 1; `None` where there is nothing to have a part of."""
    return part / whole if whole else None
