"""Finds the prices of a model: in the run's own price list, then in `genai-prices`.

The prices are recorded with the run (`PricesRecorded`); `failproof_es.core.costs` uses them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from importlib import metadata
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from failproof_es.configuration.schema import ListedRates, ModelPrice, Prices
from failproof_es.events import ModelPrices, ModelSnapshot, TokenPrices
from failproof_es.models.provider_type import provider_type

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, PriceCalculation, TieredPrices
    from genai_prices.types import ModelPrice as PublishedPrice

_MIDNIGHT = time(0)
_PRICED_PARAMETERS: Mapping[str, str] = {
    **dict.fromkeys(("service_tier", "serviceTier"), "service_tier"),
    **{name: name for name in ("speed", "inference_geo", "performanceConfig")},
}
"""Parameters of a request that change the price at some providers, and their published names."""
_STANDARD = ("auto", "default", "standard", "standard_only", "global")
"""Values of those parameters that do not change the price."""
_OTHER_RATES = ("output_reasoning_mtok", "output_citation_mtok")
"""Rates of tokens that no `Usage` has: a model with one has an unknown cost."""
_REQUESTS_PER_PRICE = Decimal(1_000)
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
"""Hosts without published prices."""


@dataclass(frozen=True, slots=True)
class PriceBook:
    """Looks up the prices of a run's models, once, when the run begins.

    In the run's own price list first, then in the published prices of `genai-prices`.
    """

    listed_prices: Sequence[ModelPrice] = ()
    version: str | None = None
    """The date of the run's own price list."""

    @classmethod
    def of(cls, configuration: dict[str, Any]) -> Self:
        """The price book of a run, from its resolved configuration."""
        prices = Prices.model_validate(configuration.get("prices") or {})
        return cls(prices.models, prices.version)

    def prices(self, model: ModelSnapshot, at: datetime) -> ModelPrices:
        """The model's prices from the time `at` on; without rates if they are unknown.

        The run's own list has precedence: its first entry with this name and URL. Published prices
        count only for a model behind its provider's URL: a model of the same name on another
        server may have any price.
        """
        base_url = model.settings.get("base_url")
        for price in self.listed_prices:
            behind = None if price.base_url is None else price.base_url.rstrip("/")
            if price.model == model.model and behind in (None, (base_url or "").rstrip("/")):
                return ModelPrices(
                    model_key=model.key,
                    source=f"price list of {self.version}",
                    listed_as=price.model,
                    rates=tuple(_listed_rates(price)),
                )
        source = provider_type(model.provider).price_source(model)
        if source is None or _on_this_machine(source.api_url):
            return ModelPrices(model_key=model.key)
        from genai_prices import Usage as PricedUsage  # imported here: loads all published prices
        from genai_prices import calc_price

        choices = _priced_choices(model.parameters)
        if source.provider_id is None:
            found_by: Any = {"provider_api_url": source.api_url}
        else:
            found_by = {"provider_id": source.provider_id}

        def price_at(moment: datetime) -> PriceCalculation:
            return calc_price(
                PricedUsage(input_tokens=0, output_tokens=0),
                model.model,
                **found_by,
                genai_request_timestamp=moment,
                price_context=choices or None,
            )

        return published_prices(model.key, price_at, at, choices)


def _priced_choices(parameters: Mapping[str, Any]) -> dict[str, str]:
    """The values of parameters that change the price, by their published names."""
    choices = {}
    for name, published_name in _PRICED_PARAMETERS.items():
        value = parameters.get(name)
        if isinstance(value, dict) and len(value) == 1:  # Bedrock: {type: flex}
            [value] = value.values()
        if value is not None and str(value).lower() not in _STANDARD:
            choices[published_name] = str(value).lower()
    return choices


def _on_this_machine(url: str | None) -> bool:
    return url is not None and urlsplit(url).hostname in _THIS_MACHINE


def published_prices(
    model_key: str,
    price_at: Callable[[datetime], PriceCalculation],
    at: datetime,
    choices: Mapping[str, str] | None = None,
) -> ModelPrices:
    """All rates of a model from the time `at` on. `price_at` looks it up in `genai-prices`.

    Without rates if the model is not there, has no token prices (a free model has the price 0), has
    one of `_OTHER_RATES`, or has no prices for one of the `choices`: values of parameters that
    change the price, by name.
    """
    try:
        calculation = price_at(at)
    except LookupError:
        return ModelPrices(model_key=model_key)
    rates = tuple(_published_rates(calculation.model, price_at, at))
    if not all(_is_priced(calculation.model, choice) for choice in (choices or {}).items()):
        return ModelPrices(model_key=model_key)
    if any(getattr(calculation.model_price, name, None) for name in _OTHER_RATES):
        return ModelPrices(model_key=model_key)
    if all(rate.input is None and rate.output is None for rate in rates):
        return ModelPrices(model_key=model_key)
    return ModelPrices(
        model_key=model_key,
        source=f"genai-prices {metadata.version('genai-prices')}",
        listed_as=f"{calculation.provider.id}/{calculation.model.id}",
        rates=rates,
    )


def _is_priced(model: ModelInfo, choice: tuple[str, str]) -> bool:
    return any(choice in variant.when.items() for variant in model.price_variants or ())


def _published_rates(
    model: ModelInfo, price_at: Callable[[datetime], PriceCalculation], at: datetime
) -> Iterator[TokenPrices]:
    """Yield the rates for each size of request, for each date and time of day with new prices.

    From the time `at` on; `price_at` looks up the model's prices at a time.
    """
    today = at.astimezone(UTC).date()
    days, times = _price_changes(model)
    for day in (today, *(day for day in days if day > today)):
        since = None if day == today else day
        for begin, end in pairwise([*times, None]):
            assert begin is not None
            moment = datetime.combine(day, begin, UTC)
            for rate in _rates_by_size(price_at(moment).model_price):
                yield rate.model_copy(
                    update={
                        "since": since,
                        "daily_from": None if begin == _MIDNIGHT else begin,
                        "daily_until": end,
                    }
                )


def _price_changes(model: ModelInfo) -> tuple[list[date], list[time]]:
    """The dates and the times of day, UTC, at which prices change."""
    from genai_prices.types import ModelPrice as PublishedPrice
    from genai_prices.types import StartDateConstraint, TimeOfDateConstraint

    dated = [] if isinstance(model.prices, PublishedPrice) else model.prices
    constraints = [
        *(price.constraint for price in dated),
        *(variant.constraint for variant in model.price_variants or ()),
    ]
    days, times = set(), {_MIDNIGHT}
    for constraint in constraints:
        match constraint:
            case StartDateConstraint():
                days.add(constraint.start_date)
            case TimeOfDateConstraint():
                times |= {_to_utc(constraint.start_time), _to_utc(constraint.end_time)}
    return sorted(days), sorted(times)


def _to_utc(moment: time) -> time:
    if moment.tzinfo is None:
        return moment
    return datetime.combine(date(1970, 1, 1), moment).astimezone(UTC).time()


def _rates_by_size(price: PublishedPrice) -> Iterator[TokenPrices]:
    """The token prices by the size of the request, smallest first."""
    from genai_prices.types import TieredPrices

    tiers = (rate.tiers for rate in vars(price).values() if isinstance(rate, TieredPrices))
    starts = sorted({tier.start for of_one in tiers for tier in of_one})
    for over in (None, *starts):

        def charged(name: str, otherwise: Decimal | None = None, over: int | None = over) -> Any:
            rate = _price_in_tier(getattr(price, name), over)
            return otherwise if rate is None else rate

        fresh = charged("input_mtok")
        cache_write = charged("cache_write_mtok", fresh)
        yield TokenPrices(
            over_input_tokens=over,
            input=fresh,
            cached_input=charged("cache_read_mtok", fresh),
            cache_write=cache_write,
            cache_write_1h=charged("cache_write_1h_mtok", cache_write),
            output=charged("output_mtok"),
            request=charged("requests_kcount", Decimal(0)) / _REQUESTS_PER_PRICE,
        )


def _price_in_tier(price: Decimal | TieredPrices | None, over: int | None) -> Decimal | None:
    from genai_prices.types import TieredPrices

    if not isinstance(price, TieredPrices):
        return price
    reached = [] if over is None else [tier for tier in price.tiers if tier.start <= over]
    return reached[-1].price if reached else price.base


def _listed_rates(price: ModelPrice) -> Iterator[TokenPrices]:
    yield _build_rate(price, None)
    for tier in sorted(price.tiers, key=lambda tier: tier.over_input_tokens):
        yield _build_rate(tier, tier.over_input_tokens)


def _build_rate(price: ListedRates, over: int | None) -> TokenPrices:
    fresh = _to_decimal(price.input_usd_per_million)
    cache_write = _to_decimal(price.cache_write_usd_per_million, fresh)
    return TokenPrices(
        over_input_tokens=over,
        input=fresh,
        cached_input=_to_decimal(price.cached_input_usd_per_million, fresh),
        cache_write=cache_write,
        cache_write_1h=_to_decimal(price.cache_write_1h_usd_per_million, cache_write),
        output=_to_decimal(price.output_usd_per_million),
    )


def _to_decimal(number: float | None, otherwise: Decimal | None = None) -> Decimal | None:
    """The decimal number as it was written, not its nearest binary fraction.

    `otherwise` if `number` is `None`.
    """
    return otherwise if number is None else Decimal(str(number))
