"""Estimates a run's requests, and the least and most that they may cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from failproof_es.configuration.prompt_template import apply_template
from failproof_es.configuration.schema import Configuration
from failproof_es.core.case import Case, Turn
from failproof_es.core.costs import cost_usd, total
from failproof_es.core.evaluation import ModelReply, Transcript
from failproof_es.dialects.fixed_outcomes import FixedOutcomeCounts, fixed_outcomes_of
from failproof_es.dialects.protocol import Dialect
from failproof_es.engine.drive.targets import Targets
from failproof_es.engine.preflight.gate_checks import cost_gate_problems
from failproof_es.engine.preflight.spend_checks import ceiling_problems, estimate_warnings
from failproof_es.events import ModelPrices, ModelSnapshot, Usage
from failproof_es.models.catalog.prices import PriceBook
from failproof_es.problems import InvalidInput, Problem

CHARACTERS_PER_TOKEN = (6, 2)
"""The most and the fewest characters in nearly every token: the two ends of an estimate."""
_SOME_ANSWER = "."
"""A nonempty answer: an empty one may be graded without a judge."""
_MOST_TURNS = 1_000


@dataclass(slots=True)
class Estimate:
    """The estimated requests to one model or judge.

    Tokens are estimated, not counted by a provider. `cost_usd` is a range: from empty answers and
    long tokens, to `max_tokens` for each answer and short tokens, without any cache. `None` if the
    price is unknown.
    """

    key: str
    requests: int = 0
    characters: int = 0
    max_tokens: int = 0
    priced_by: str | None = None
    cost_usd: tuple[float, float] | None = None


@dataclass(slots=True)
class _RequestEstimate:
    """Adds up the requests to one model or judge, each priced by its own size at time `at`."""

    prices: ModelPrices
    at: datetime
    max_tokens: int
    requests: int = 0
    characters: int = 0
    least: Decimal | None = Decimal(0)
    most: Decimal | None = Decimal(0)

    def add(self, characters: int, times: int) -> None:
        long, short = CHARACTERS_PER_TOKEN
        self.requests += times
        self.characters += times * characters
        if not self.prices.rates:
            self.least = self.most = None
            return
        self.least = self._plus(self.least, times, characters // long, 0)
        self.most = self._plus(self.most, times, -(-characters // short), self.max_tokens)

    def _plus(self, cost: Decimal | None, times: int, read: int, answered: int) -> Decimal | None:
        usage = Usage(input_tokens=read, output_tokens=answered)
        one = cost_usd(self.prices, usage, self.at)
        return None if one is None else total((cost, one * times))

    def estimate(self) -> Estimate:
        has_price = self.prices.rates and self.least is not None and self.most is not None
        return Estimate(
            self.prices.model_key,
            self.requests,
            self.characters,
            self.max_tokens,
            self.prices.source,
            (float(self.least or 0), float(self.most or 0)) if has_price else None,
        )


def require_bounded_costs(configuration: Configuration, targets: Targets) -> None:
    """Raise `InvalidInput` with each model and judge with which the run's spend ceiling cannot be
    kept, or else whose costs a gate cannot judge."""
    models = (*targets.snapshots(), *targets.judge_snapshots())
    prices = _prices_of(configuration, models, datetime.now(UTC))
    problems = list(ceiling_problems(configuration, models, prices))
    if problems := problems or list(cost_gate_problems(configuration, models, prices)):
        raise InvalidInput(problems)


def _prices_of(
    configuration: Configuration, models: Iterable[ModelSnapshot], now: datetime
) -> dict[str, ModelPrices]:
    """The prices of each model, by its key."""
    book = PriceBook.of(configuration.model_dump(mode="json", by_alias=True))
    return {model.key: book.prices(model, now) for model in models}


class Estimates:
    """Counts what the models and the judges of a configuration would be asked, case by case, at
    today's prices. Nothing is sent."""

    def __init__(self, dialect: Dialect, configuration: Configuration, targets: Targets) -> None:
        self._dialect = dialect
        models, self._judges = targets.snapshots(), targets.judge_snapshots()
        self._configuration = configuration
        self._models = (*models, *self._judges)
        self._templates = {
            key: target.model.prompt_template for key, target in targets.models.items()
        }
        self._everything = dict.fromkeys(
            (model.key for model in models), configuration.execution.repetitions
        )
        now = datetime.now(UTC)
        prices = _prices_of(configuration, self._models, now)
        self._of = {
            model.key: _RequestEstimate(prices[model.key], now, int(model.parameters["max_tokens"]))
            for model in self._models
        }
        self._fixed_outcomes = FixedOutcomeCounts()
        self._fixed_outcome = fixed_outcomes_of(dialect)
        self._cases = 0
        self.evaluations = 0
        """Number of evaluations of the cases so far, over all models."""

    def add(self, case: Case, times: Mapping[str, int] | None = None) -> None:
        """Count the requests for one more case.

        `times` is how often each model is asked, by its key; `None` means the configured
        repetitions for every model.
        """
        times = self._everything if times is None else times
        evaluations = sum(times.values())
        self._cases += 1
        self._fixed_outcomes.add(self._fixed_outcome(case))
        self.evaluations += evaluations
        replies: list[ModelReply] = []
        messages: tuple[Turn, ...] | None = None
        for turn in range(_MOST_TURNS):
            asked, messages = messages, self._dialect.messages(case, Transcript(tuple(replies)))
            if messages is None or messages == asked:  # the same again is asked after a bad reply
                break
            self._count(times.items(), messages)
            replies.append(ModelReply(turn, _SOME_ANSWER, "stop"))
        judged = self._dialect.judge_messages(case, Transcript(tuple(replies)))
        if judged is not None:
            self._count(((judge.key, evaluations) for judge in self._judges), judged)

    def warnings(self) -> list[Problem]:
        """Warnings about the cases so far: the spend ceiling, cases with a fixed outcome."""
        return [
            *estimate_warnings(self._configuration, self.as_json()["models"]),
            *(
                Problem("fixed-outcome", line, severity="warning")
                for line in self._fixed_outcomes.lines()
            ),
        ]

    def as_json(self) -> dict[str, Any]:
        """The whole estimate as events and `--json` carry it: the numbers of `cases`, `evaluations`
        and `requests`, and the fields of an `Estimate` for each of `models`."""
        return {
            "cases": self._cases,
            "evaluations": self.evaluations,
            "requests": sum(tally.requests for tally in self._of.values()),
            "models": [asdict(tally.estimate()) for tally in self._of.values()],
        }

    def _count(self, counts: Iterable[tuple[str, int]], messages: Sequence[Turn]) -> None:
        characters = sum(len(turn.content) for turn in messages)
        for key, times in counts:
            template = self._templates.get(key)
            if template is None:
                self._of[key].add(characters, times)
            else:
                sent = apply_template(template, messages)
                self._of[key].add(sum(len(turn.content) for turn in sent), times)
