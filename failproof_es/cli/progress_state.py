"""How a run stands while it is running: a fold over its events, without any terminal."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

from failproof_es.events import (
    AttemptLost,
    CarriedOver,
    Classified,
    ErrorRecorded,
    EvaluationAbandoned,
    Event,
    RequestSent,
    ResponseReceived,
    RunStarted,
    Scored,
    Usage,
)

RATE_WINDOW_S = 30.0
"""The rate is that of the last half minute, so that it follows a provider's mood; of a
longer time where that is too short to finish anything."""
ENOUGH_FINISHED = 5
ENOUGH_SECONDS = 2.0

OBSERVED = tuple(
    kind.__name__
    for kind in (
        RunStarted,
        CarriedOver,
        RequestSent,
        ResponseReceived,
        ErrorRecorded,
        AttemptLost,
        Classified,
        Scored,
        EvaluationAbandoned,
    )
)
"""The topics that say something about progress."""

Price = Callable[[str, Usage], float | None]
"""What a model (by its key) takes for this usage in USD; `None` when no price is known."""


@dataclass(slots=True)
class ModelProgress:
    """One model's row. `planned` counts evaluations: cases x repetitions."""

    key: str
    planned: int = 0
    scored: int = 0
    abandoned: int = 0
    passed: int = 0
    refused: int = 0
    retries: int = 0
    carried_over: int = 0
    """Finished already in the run that this one was branched from."""
    cost_usd: float | None = 0.0
    """`None` from the first answer on whose price is unknown: a part is not the whole."""
    in_flight: set[UUID] = field(default_factory=set)

    @property
    def finished(self) -> int:
        """Evaluations that have their one final result."""
        return self.scored + self.abandoned + self.carried_over


@dataclass(frozen=True, slots=True)
class Pace:
    """Finished evaluations per second, and the seconds left; `None` until enough is known."""

    per_second: float | None
    seconds_left: float | None


Pricing = Callable[[RunStarted], Price]
"""From what a run set out with to the prices of its models."""


class ProgressState:
    """Fold events into a row per model. `observe` is cheap; `pace` is asked at each repaint."""

    def __init__(
        self, pricing: Pricing | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.models: dict[str, ModelProgress] = {}
        self.run_number: int | None = None
        self.name: str | None = None
        self._pricing = pricing
        self._price: Price | None = None
        self._clock = clock
        self._samples: dict[str, deque[tuple[float, int]]] = {}

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
            case ErrorRecorded() | AttemptLost():
                self._model(event.model_key).in_flight.discard(event.originator_id)
            case Classified():
                self._model(event.model_key).refused += event.primary == "refusal"
            case Scored():
                model = self._model(event.model_key)
                model.scored += 1
                model.passed += event.scores.get("accuracy") == 1
            case EvaluationAbandoned():
                self._model(event.model_key).abandoned += 1
            case CarriedOver():
                self._model(event.model_key).carried_over += 1
            case RunStarted():
                self._begin(event)

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
        return Pace(per_second, max(model.planned - model.finished, 0) / per_second)

    @staticmethod
    def _is_enough(sample: tuple[float, int], finished: int, now: float) -> bool:
        """Whether the rate can be measured from `sample` on, without what came before it."""
        return sample[0] <= now - RATE_WINDOW_S and finished - sample[1] >= ENOUGH_FINISHED

    def _begin(self, event: RunStarted) -> None:
        self.run_number, self.name = event.run_number, event.name
        self._price = self._pricing(event) if self._pricing else None
        for snapshot in event.models:
            self._model(snapshot.key).planned = event.planned_evaluations // len(event.models)

    def _model(self, key: str) -> ModelProgress:
        model = self.models.get(key)
        if model is None:
            model = self.models[key] = ModelProgress(key)
        return model

    def _charge(self, model: ModelProgress, event: ResponseReceived) -> None:
        if model.cost_usd is None:
            return
        price = self._price(event.judge or model.key, event.usage) if self._price else None
        model.cost_usd = None if price is None else model.cost_usd + price
