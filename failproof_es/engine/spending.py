"""What a run's own answers used and took, judges' included, from all that the log holds."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from failproof_es.events import ResponseReceived, RunStarted, Usage
from failproof_es.models.prices import PriceBook
from failproof_es.store.reader import Connection, find

_MILLION = Decimal(1_000_000)


def used_by(connection: Connection, started: RunStarted) -> dict[str, Usage]:
    """Tokens by model and judge. What was carried over was counted where it was spent."""
    used: dict[str, Usage] = {}
    topics = [ResponseReceived.__name__]
    for row in find(connection, run_id=started.originator_id, topics=topics):
        event = row.event()
        assert isinstance(event, ResponseReceived)
        key = event.judge or event.model_key
        used[key] = usage_sum(used.get(key), event.usage)
    return used


def usage_sum(before: Usage | None, usage: Usage) -> Usage:
    """Both together. Unknown once is unknown in sum: a part is not the whole."""
    if before is None:
        return usage

    def total(one: int | None, other: int | None) -> int | None:
        return None if one is None or other is None else one + other

    return Usage(
        input_tokens=total(before.input_tokens, usage.input_tokens),
        output_tokens=total(before.output_tokens, usage.output_tokens),
        cached_input_tokens=(before.cached_input_tokens or 0) + (usage.cached_input_tokens or 0),
    )


def costs_of(started: RunStarted, used: Mapping[str, Usage]) -> dict[str, Decimal | None]:
    """US dollars by model and judge, at the prices of the run's start.

    `None` where a price or a token count is unknown.
    """
    book = PriceBook.of(started.configuration)
    models = {model.key: model for model in (*started.models, *started.judges)}
    costs: dict[str, Decimal | None] = {}
    for key, usage in used.items():
        rates = book.rates(models[key], started.timestamp) if key in models else None
        if rates is None or usage.input_tokens is None or usage.output_tokens is None:
            costs[key] = None
            continue
        cached = usage.cached_input_tokens or 0
        cost = (usage.input_tokens - cached) * rates.input + cached * rates.cached_input
        costs[key] = (cost + usage.output_tokens * rates.output) / _MILLION
    return costs
