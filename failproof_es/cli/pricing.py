"""What a run's models take, as far as their prices are known."""

from __future__ import annotations

from failproof_es.cli.progress_state import Price
from failproof_es.events import RunStarted, Usage
from failproof_es.models.prices import PriceBook, Rates

_MILLION = 1_000_000


def rates_of(started: RunStarted) -> dict[str, Rates]:
    """The known prices of a run's models and judges, by key, as they were when it began."""
    book = PriceBook.of(started.configuration)
    models = (*started.models, *started.judges)
    found = {model.key: book.rates(model, started.timestamp) for model in models}
    return {key: rates for key, rates in found.items() if rates is not None}


def price_of(started: RunStarted) -> Price:
    """The price of an answer by model key, at the prices of the run's start.

    Prices are looked up once: this is asked for every answer while a run is going.
    """
    known = {
        key: (
            float(rates.input) / _MILLION,
            float(rates.cached_input) / _MILLION,
            float(rates.output) / _MILLION,
        )
        for key, rates in rates_of(started).items()
    }

    def price(key: str, usage: Usage) -> float | None:
        if key not in known or usage.input_tokens is None or usage.output_tokens is None:
            return None
        fresh, cached, output = known[key]
        cached_tokens = usage.cached_input_tokens or 0
        return (
            (usage.input_tokens - cached_tokens) * fresh
            + cached_tokens * cached
            + usage.output_tokens * output
        )

    return price
