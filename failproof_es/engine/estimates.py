"""What a run would ask of its models and judges, and the two ends of what that may cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from failproof_es.case import Case, Turn
from failproof_es.configuration.schema import Configuration
from failproof_es.dialects.protocol import Dialect
from failproof_es.engine.targets import Targets
from failproof_es.evaluation import Reply, Transcript
from failproof_es.models.prices import PriceBook, Rates

CHARACTERS_PER_TOKEN = (6, 2)
"""A token holds at most and at least so many characters, nearly always: the two ends of an
estimate."""
_MILLION = 1_000_000
_SOME_ANSWER = "."
"""An empty one may be graded without a judge."""
_MOST_TURNS = 1_000


@dataclass(slots=True)
class Estimate:
    """What one model or judge would be asked. No provider counted this: it is an estimate.

    `cost_usd` is from nothing answered, in long tokens, to `max_tokens` answered each time, in
    short ones; `None` where the price is not known.
    """

    key: str
    requests: int = 0
    characters: int = 0
    max_tokens: int = 0
    priced_by: str | None = None
    cost_usd: tuple[float, float] | None = None

    def price(self, rates: Rates) -> None:
        """Put the two ends of the cost to what would be asked."""
        long, short = (self.characters / each for each in CHARACTERS_PER_TOKEN)
        answered = self.requests * self.max_tokens
        least = long * float(rates.input)
        most = short * float(rates.input) + answered * float(rates.output)
        self.priced_by = rates.version
        self.cost_usd = (least / _MILLION, most / _MILLION)


class Estimates:
    """Counts what the models and the judges would be asked, case by case."""

    def __init__(self, dialect: Dialect, configuration: Configuration, targets: Targets) -> None:
        self._dialect = dialect
        self._book = PriceBook.of(configuration.model_dump(mode="json", by_alias=True))
        self._models = targets.snapshots()
        self._judges = targets.judge_snapshots()
        self._everything = dict.fromkeys(
            (model.key for model in self._models), configuration.execution.repetitions
        )
        self._of = {
            model.key: Estimate(model.key, max_tokens=int(model.parameters["max_tokens"]))
            for model in (*self._models, *self._judges)
        }
        self._cases = 0
        self._evaluations = 0

    def add(self, case: Case, times: Mapping[str, int] | None = None) -> None:
        """Count one more case, asked of each model so many times: by default as configured."""
        times = self._everything if times is None else times
        evaluations = sum(times.values())
        self._cases += 1
        self._evaluations += evaluations
        replies: list[Reply] = []
        for turn in range(_MOST_TURNS):
            messages = self._dialect.messages(case, Transcript(tuple(replies)))
            if messages is None:
                break
            self._count(times.items(), messages)
            replies.append(Reply(turn, _SOME_ANSWER, "stop"))
        judged = self._dialect.judge_messages(case, Transcript(tuple(replies)))
        if judged is not None:
            self._count(((judge.key, evaluations) for judge in self._judges), judged)

    def as_json(self) -> dict[str, Any]:
        """The whole estimate as events and `--json` carry it, at the prices of today."""
        for model in (*self._models, *self._judges):
            rates = self._book.rates(model, datetime.now(UTC))
            if rates is not None:
                self._of[model.key].price(rates)
        return {
            "cases": self._cases,
            "evaluations": self._evaluations,
            "requests": sum(each.requests for each in self._of.values()),
            "models": [asdict(each) for each in self._of.values()],
        }

    def _count(self, asked: Iterable[tuple[str, int]], messages: Sequence[Turn]) -> None:
        characters = sum(len(turn.content) for turn in messages)
        for key, times in asked:
            self._of[key].requests += times
            self._of[key].characters += times * characters
