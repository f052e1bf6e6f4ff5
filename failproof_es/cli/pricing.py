"""What a run's models take, as far as their prices are known."""

from __future__ import annotations

from failproof_es.cli.progress_state import Price
from failproof_es.events import RunStarted, Usage
from failproof_es.models.prices import usd_per_million

_MILLION = 1_000_000


def price_of(started: RunStarted) -> Price:
    """The price of an answer by model key, at the prices of the run's start.

    Prices are looked up once: this is asked for every answer while a run is going.
    """
    found = {model.key: usd_per_million(model, started.timestamp) for model in started.models}
    rates = {
        key: tuple(float(rate) / _MILLION for rate in per_million)
        for key, per_million in found.items()
        if per_million is not None
    }

    def price(key: str, usage: Usage) -> float | None:
        if key not in rates or usage.input_tokens is None or usage.output_tokens is None:
            return None
        fresh, cached, output = rates[key]
        cached_tokens = usage.cached_input_tokens or 0
        return (
            (usage.input_tokens - cached_tokens) * fresh
            + cached_tokens * cached
            + usage.output_tokens * output
        )

    return price
