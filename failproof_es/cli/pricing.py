"""What answers cost while a run is going and afterwards, by the prices that it recorded."""

from __future__ import annotations

from collections.abc import Callable

from failproof_es.cli.progress_state import Price, Pricing
from failproof_es.costs import Prices, answer_cost
from failproof_es.engine.recorded import read_run
from failproof_es.events import ResponseReceived, RunStarted
from failproof_es.store.store import Store


def price_of(prices: Prices | None) -> Price:
    """What an answer cost by these prices."""

    def price(response: ResponseReceived) -> float | None:
        cost = answer_cost(prices or {}, response)
        return None if cost is None else float(cost)

    return price


def recorded_in(store: Store) -> Pricing:
    """For a run that has begun: the prices that stand in the log with its plan."""

    def pricing(started: RunStarted) -> Callable[[ResponseReceived], float | None]:
        with store.connect() as connection:
            return price_of(read_run(connection, started.originator_id).prices)

    return pricing
