"""What answers cost while a run is going and afterwards, by the prices that it recorded."""

from __future__ import annotations

from failproof_es.cli.progress_state import Price, Pricing
from failproof_es.costs import Prices, answer_cost
from failproof_es.engine.recorded import read_run
from failproof_es.events import RunStarted
from failproof_es.store.store import Store


def price_of(prices: Prices | None) -> Price:
    """What an answer cost by these prices."""

    return lambda response: answer_cost(prices or {}, response)


def recorded_in(store: Store) -> Pricing:
    """For a run that has begun: the prices that stand in the log with its plan."""

    def pricing(started: RunStarted) -> Price:
        with store.connect() as connection:
            return price_of(read_run(connection, started.originator_id).prices)

    return pricing
