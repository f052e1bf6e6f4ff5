"""What tokens cost: the price data of `genai-prices`, of a known version. Unknown stays unknown."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from importlib import metadata

from genai_prices import Usage as PricedUsage
from genai_prices import calc_price

from failproof_es.events import ModelSnapshot, Usage

_MILLION = 1_000_000


def price_version() -> str:
    """Which price data this is."""
    return f"genai-prices {metadata.version('genai-prices')}"


def cost_usd(model: ModelSnapshot, usage: Usage, at: datetime | None = None) -> Decimal | None:
    """The price of one answer in US dollars, at the prices of `at` (now, unless given).

    `None` when the model's price is not known, or the provider did not count the tokens:
    never 0 for either. Only a model behind its own provider's URL has a known price: the
    same name on another server may cost anything.
    """
    base_url = model.settings.get("base_url")
    if base_url is None or usage.input_tokens is None or usage.output_tokens is None:
        return None
    try:
        price = calc_price(
            PricedUsage(
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                cache_read_tokens=usage.cached_input_tokens,
            ),
            model.model,
            provider_api_url=base_url,
            genai_request_timestamp=at,
        )
    except LookupError:
        return None
    return price.total_price


def usd_per_million(model: ModelSnapshot, at: datetime) -> tuple[Decimal, Decimal, Decimal] | None:
    """Input, cached input and output tokens, per million; `None` when not known."""
    inputs = cost_usd(model, Usage(input_tokens=_MILLION, output_tokens=0), at)
    if inputs is None:
        return None
    cached = cost_usd(
        model, Usage(input_tokens=_MILLION, output_tokens=0, cached_input_tokens=_MILLION), at
    )
    outputs = cost_usd(model, Usage(input_tokens=0, output_tokens=_MILLION), at)
    if cached is None or outputs is None:
        return None
    return inputs, cached, outputs
