"""What answers used and cost, judges' included."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal

from failproof_es.costs import Prices, Tokens, answer_cost, total
from failproof_es.events import ResponseReceived, Usage
from failproof_es.run import Run
from failproof_es.store.reader import Connection, find


@dataclass(slots=True)
class Spending:
    """By model and judge. Each answer is priced by itself: a price depends on its size."""

    prices: Prices
    usage: dict[str, Usage] = field(default_factory=dict)
    """Unknown once is unknown in sum."""
    input_tokens: dict[str, Tokens] = field(default_factory=dict)
    output_tokens: dict[str, Tokens] = field(default_factory=dict)
    cost_usd: dict[str, Decimal | None] = field(default_factory=dict)
    """`None` where the cost of an answer is not known."""
    answers: Counter[str] = field(default_factory=Counter)

    def add(self, response: ResponseReceived) -> None:
        """Count one answer in."""
        key = response.judge or response.model_key
        self._add(key, 1, response.usage, answer_cost(self.prices, response))
        self.input_tokens.setdefault(key, Tokens()).add(response.usage.input_tokens)
        self.output_tokens.setdefault(key, Tokens()).add(response.usage.output_tokens)

    def include(self, other: Spending) -> None:
        """Count all of another one's answers in."""
        for key, usage in other.usage.items():
            self._add(key, other.answers[key], usage, other.cost_usd[key])
            self.input_tokens.setdefault(key, Tokens()).include(other.input_tokens[key])
            self.output_tokens.setdefault(key, Tokens()).include(other.output_tokens[key])

    def _add(self, key: str, answers: int, usage: Usage, cost: Decimal | None) -> None:
        self.answers[key] += answers
        self.usage[key] = _usage_sum(self.usage.get(key), usage)
        self.cost_usd[key] = total((self.cost_usd.get(key, Decimal(0)), cost))


def spending_of(connection: Connection, run: Run) -> Spending:
    """A run's own answers, from all that the log holds.

    What was carried over was counted where it was spent.
    """
    spending = Spending(run.prices or {})
    topics = [ResponseReceived.__name__]
    for row in find(connection, run_id=run.started.originator_id, topics=topics):
        event = row.event()
        assert isinstance(event, ResponseReceived)
        spending.add(event)
    return spending


def _usage_sum(before: Usage | None, usage: Usage) -> Usage:
    """Both together. Unknown once is unknown in sum: a part is not the whole."""
    if before is None:
        return usage

    def both(one: int | None, other: int | None) -> int | None:
        return None if one is None or other is None else one + other

    return Usage(
        input_tokens=both(before.input_tokens, usage.input_tokens),
        output_tokens=both(before.output_tokens, usage.output_tokens),
        cached_input_tokens=(before.cached_input_tokens or 0) + (usage.cached_input_tokens or 0),
        cache_write_tokens=(before.cache_write_tokens or 0) + (usage.cache_write_tokens or 0),
        cache_write_1h_tokens=(before.cache_write_1h_tokens or 0)
        + (usage.cache_write_1h_tokens or 0),
    )
