"""What a run's models take, as far as their prices are known."""

from __future__ import annotations

from collections.abc import Sequence

from failproof_es.cli.progress_state import Price
from failproof_es.events import ModelSnapshot, Usage
from failproof_es.models.prices import cost_usd


def price_of(models: Sequence[ModelSnapshot]) -> Price:
    """The price function for these models, by model key."""
    by_key = {model.key: model for model in models}

    def price(key: str, usage: Usage) -> float | None:
        model = by_key.get(key)
        return None if model is None else cost_usd(model.provider, model.model, usage)

    return price
