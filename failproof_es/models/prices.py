"""What tokens cost: a run's own price list, then `genai-prices`. Unknown stays unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from importlib import metadata
from typing import Any, Self

from genai_prices import Usage as PricedUsage
from genai_prices import calc_price

from failproof_es.configuration.schema import ModelPrice, Prices
from failproof_es.events import ModelSnapshot, Usage

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Rates:
    """US dollars per million tokens, and which price data says so."""

    input: Decimal
    cached_input: Decimal
    output: Decimal
    version: str


@dataclass(frozen=True, slots=True)
class PriceBook:
    """The prices that a run's costs are computed with."""

    listed: Sequence[ModelPrice] = ()
    version: str | None = None
    """The day of the run's own price list."""

    @classmethod
    def of(cls, configuration: dict[str, Any]) -> Self:
        """The book of a run, from the resolved configuration that it recorded."""
        prices = Prices.model_validate(configuration.get("prices") or {})
        return cls(prices.models, prices.version)

    def rates(self, model: ModelSnapshot, at: datetime) -> Rates | None:
        """The model's prices at a time; `None` when they are not known, never 0 for that.

        The run's own list comes first: the first entry of this name, behind this URL.
        """
        base_url = str(model.settings.get("base_url", "")).rstrip("/")
        for listed in self.listed:
            behind = None if listed.base_url is None else listed.base_url.rstrip("/")
            if listed.model == model.model and behind in (None, base_url):
                return _listed_rates(listed, f"price list of {self.version}")
        return _published_rates(model, at)


def price_version() -> str:
    """Which published price data this is."""
    return f"genai-prices {metadata.version('genai-prices')}"


def cost_usd(model: ModelSnapshot, usage: Usage, at: datetime | None = None) -> Decimal | None:
    """The published price of one answer in US dollars, at the prices of `at` (or now).

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


def _listed_rates(price: ModelPrice, version: str) -> Rates:
    cached = price.cached_input_usd_per_million
    return Rates(
        input=_decimal(price.input_usd_per_million),
        cached_input=_decimal(price.input_usd_per_million if cached is None else cached),
        output=_decimal(price.output_usd_per_million),
        version=version,
    )


def _decimal(number: float) -> Decimal:
    return Decimal(str(number))  # what was written, not its nearest binary fraction


def _published_rates(model: ModelSnapshot, at: datetime) -> Rates | None:
    inputs = cost_usd(model, Usage(input_tokens=_MILLION, output_tokens=0), at)
    if inputs is None:
        return None
    cached = cost_usd(
        model, Usage(input_tokens=_MILLION, output_tokens=0, cached_input_tokens=_MILLION), at
    )
    outputs = cost_usd(model, Usage(input_tokens=0, output_tokens=_MILLION), at)
    if cached is None or outputs is None:
        return None
    return Rates(inputs, cached, outputs, price_version())
