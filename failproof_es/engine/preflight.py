"""Checking a run before anything is sent (specification 001 § 10.1), and what it would ask.

Everything that is wrong is found before it is said: the cases and the models are looked at
whatever the other ones are like.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from failproof_es.case import Case, Turn
from failproof_es.configuration.loading import LoadedConfiguration
from failproof_es.dialects.protocol import Dialect, ReadsJudges
from failproof_es.engine.gate_evidence import check_gates
from failproof_es.engine.planner import Source
from failproof_es.engine.sources import source_of
from failproof_es.engine.targets import Targets
from failproof_es.evaluation import Reply, Transcript
from failproof_es.events import ModelSnapshot
from failproof_es.models.prices import PriceBook, Rates
from failproof_es.problems import InvalidInput, Problem
from failproof_es.store.store import Store

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


@dataclass(frozen=True, slots=True)
class Preflight:
    """What was looked at before a run and found good enough to begin it."""

    source: Source
    found: tuple[Problem, ...]
    """Warnings, and the defects of cases that are to be skipped, as errors."""
    remarks: tuple[str, ...]
    """What the models' servers said."""


async def check(loaded: LoadedConfiguration, store: Store, targets: Targets) -> Preflight:
    """Check everything that `start` needs. Raises `InvalidInput` with all that is wrong."""
    gates, cases, remarks = await asyncio.gather(
        asyncio.to_thread(_check_gates, loaded, store),
        asyncio.to_thread(_check_cases, loaded, store),
        targets.check(),
        return_exceptions=True,
    )
    problems: list[Problem] = []
    for outcome in (gates, cases, remarks):
        if isinstance(outcome, InvalidInput):
            problems.extend(loaded.placed(problem) for problem in outcome.problems)
        elif isinstance(outcome, BaseException):
            raise outcome
    if problems:
        raise InvalidInput(problems)
    assert not isinstance(cases, BaseException) and not isinstance(remarks, BaseException)
    source, found = cases
    return Preflight(source, found, tuple(remarks))


def _check_gates(loaded: LoadedConfiguration, store: Store) -> None:
    with store.connect() as connection:
        check_gates(connection, loaded.configuration.gates)


def _check_cases(loaded: LoadedConfiguration, store: Store) -> tuple[Source, tuple[Problem, ...]]:
    """Read every case, and see whether there is a judge where they want one."""
    source = source_of(loaded, store)
    problems: list[Problem] = []
    if isinstance(source.dialect, ReadsJudges) and not loaded.configuration.asked_judges:
        reason = f"is missing: the dialect {source.dialect.name!r} has replies judged by a model"
        problems.append(Problem(reason, field="judge", remedy="name the model that judges"))
    try:
        found = source.check()
    except InvalidInput as error:
        raise InvalidInput([*problems, *error.problems]) from None
    if problems:
        raise InvalidInput(problems)
    return source, found


class Estimates:
    """Counts what the models and the judges would be asked, case by case."""

    def __init__(self, dialect: Dialect, loaded: LoadedConfiguration, targets: Targets) -> None:
        self._dialect = dialect
        self._book = PriceBook.of(loaded.resolved())
        self._times = loaded.configuration.execution.repetitions
        self._models = targets.snapshots()
        self._judges = targets.judge_snapshots()
        self._of = {
            model.key: Estimate(model.key, max_tokens=int(model.parameters["max_tokens"]))
            for model in (*self._models, *self._judges)
        }
        self.cases = 0

    def add(self, case: Case) -> None:
        """Count one more case."""
        self.cases += 1
        replies: list[Reply] = []
        for turn in range(_MOST_TURNS):
            messages = self._dialect.messages(case, Transcript(tuple(replies)))
            if messages is None:
                break
            self._count(self._models, self._times, messages)
            replies.append(Reply(turn, _SOME_ANSWER, "stop"))
        judged = self._dialect.judge_messages(case, Transcript(tuple(replies)))
        if judged is not None:
            self._count(self._judges, self._times * len(self._models), judged)

    def priced(self) -> list[Estimate]:
        """What was counted, with the prices of today where they are known."""
        for model in (*self._models, *self._judges):
            rates = self._book.rates(model, datetime.now(UTC))
            if rates is not None:
                self._of[model.key].price(rates)
        return list(self._of.values())

    def as_json(self) -> dict[str, Any]:
        """The whole estimate as events and `--json` carry it."""
        estimates = self.priced()
        return {
            "cases": self.cases,
            "evaluations": self.cases * len(self._models) * self._times,
            "requests": sum(each.requests for each in estimates),
            "models": [asdict(each) for each in estimates],
        }

    def _count(self, models: Sequence[ModelSnapshot], times: int, messages: Sequence[Turn]) -> None:
        characters = sum(len(turn.content) for turn in messages)
        for model in models:
            self._of[model.key].requests += times
            self._of[model.key].characters += times * characters


async def estimate(
    preflight: Preflight, loaded: LoadedConfiguration, targets: Targets
) -> Estimates:
    """What the run would ask, from its cases. Nothing is stored."""
    estimates = Estimates(preflight.source.dialect, loaded, targets)

    def count() -> None:
        for part in preflight.source.parts():
            for case in part.cases:
                estimates.add(case)

    await asyncio.to_thread(count)
    return estimates
