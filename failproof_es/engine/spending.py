"""What answers used and cost, judges' included."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from failproof_es.costs import Prices, Spent, answer_cost
from failproof_es.events import ResponseReceived, Usage
from failproof_es.run import Run
from failproof_es.store.reader import Connection, find


@dataclass(slots=True)
class Spending:
    """By model and judge. Each answer is priced by itself: a price depends on its size."""

    prices: Prices
    by_key: dict[str, Spent] = field(default_factory=dict)

    def add(self, response: ResponseReceived) -> None:
        """Count one answer in."""
        key = response.judge or response.model_key
        spent = self.by_key.setdefault(key, Spent())
        spent.add(response.usage, answer_cost(self.prices, response))

    @property
    def usage(self) -> dict[str, Usage]:
        """The tokens of each. Unknown once is unknown in sum: a part is not the whole."""
        return {key: _usage(spent) for key, spent in self.by_key.items()}

    @property
    def cost_usd(self) -> dict[str, Decimal | None]:
        """What each cost; `None` where the cost of an answer is not known."""
        return {key: spent.cost_usd for key, spent in self.by_key.items()}


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


def _usage(spent: Spent) -> Usage:
    return Usage(
        input_tokens=None if spent.input.unknown else spent.input.total,
        output_tokens=None if spent.output.unknown else spent.output.total,
        cached_input_tokens=spent.cached_input.known,
        cache_write_tokens=spent.cache_write.known,
        cache_write_1h_tokens=spent.cache_write_1h.known,
    )
