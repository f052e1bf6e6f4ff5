"""Prices are found for a model behind its own server, in the run's own list first."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from itertools import product
from typing import Any

import pytest
from genai_prices import Usage as PricedUsage
from genai_prices import calc_price
from genai_prices.data import providers
from genai_prices.types import ModelInfo, PriceCalculation, Provider, TieredPrices
from genai_prices.types import ModelPrice as PublishedPrice

from failproof_es.configuration.schema import Model
from failproof_es.core.costs import cost_usd
from failproof_es.events import ModelPrices, ModelSnapshot, Usage
from failproof_es.models import server_of, snapshot
from failproof_es.models.catalog.prices import PriceBook, published_prices
from tests.every import every

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
NOTHING = Usage(input_tokens=0, output_tokens=0)
FREE = {"input_usd_per_million": 0.0, "output_usd_per_million": 0.0}
OPENAI = {"base_url": "https://api.openai.com/v1"}


def model(name: str, settings: dict[str, Any] | None = None, **parameters: Any) -> ModelSnapshot:
    return ModelSnapshot(
        key=name, provider="openai", model=name, settings=settings or {}, parameters=parameters
    )


def found(name: str, **parameters: Any) -> ModelPrices:
    return PriceBook().prices(model(name, OPENAI, **parameters), NOON)


def listed(*models: dict[str, Any]) -> PriceBook:
    return PriceBook.of({"prices": {"version": "2026-11-01", "models": list(models)}})


# -- against the published price data itself ------------------------------------------------

MODELS = [(provider, each) for provider in providers for each in provider.models]


def moments(of: ModelInfo) -> set[datetime]:
    """Now, and the moments around every change of price that is still to come."""
    prices = [] if isinstance(of.prices, PublishedPrice) else of.prices
    constraints = [each.constraint for each in (*prices, *(of.price_variants or ()))]
    moment = timedelta(seconds=1)
    around = {NOON}
    for constraint in constraints:
        if hasattr(constraint, "start_date"):
            turn = datetime.combine(constraint.start_date, time(0), UTC)
            around |= {each for each in (turn - moment, turn) if each > NOON}
        elif constraint is not None:
            for clock in (constraint.start_time, constraint.end_time):
                turn = datetime.combine((NOON + timedelta(days=1)).date(), clock)
                turn = turn if turn.tzinfo else turn.replace(tzinfo=UTC)
                around |= {turn - moment, turn, turn + moment}
    return around


def sizes(of: ModelInfo) -> set[int]:
    """Numbers of input tokens: a few, and those around every tier."""
    prices = [of.prices] if isinstance(of.prices, PublishedPrice) else [p.prices for p in of.prices]
    starts = {
        tier.start
        for price in prices
        for value in vars(price).values()
        if isinstance(value, TieredPrices)
        for tier in value.tiers
    }
    around = {start + off for start in starts for off in (-1, 0, 1)}
    return {0, 1, 1_000, 10_000_000} | {size for size in around if size >= 0}


def usages(size: int) -> Iterator[Usage]:
    for output, cached, written in product((0, 777), (0, size // 3), (0, size // 2)):
        yield Usage(
            input_tokens=size, output_tokens=output, cached_input_tokens=cached,
            cache_write_tokens=written, cache_write_1h_tokens=written // 4,
        )  # fmt: skip


def counted(usage: Usage) -> PricedUsage:
    return PricedUsage(
        input_tokens=usage.input_tokens, output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cached_input_tokens, cache_write_tokens=usage.cache_write_tokens,
        cache_write_1h_tokens=usage.cache_write_1h_tokens,
    )  # fmt: skip


def recorded(provider: Provider, of: ModelInfo) -> ModelPrices:
    """What a run that begins now would record."""

    def price_at(moment: datetime) -> PriceCalculation:
        return of.calc_price(counted(NOTHING), provider, genai_request_timestamp=moment)

    return published_prices("m", price_at, NOON)


def agrees(provider: Provider, of: ModelInfo) -> Iterator[str]:
    """Where what was recorded gives another cost than the package does at that moment."""

    def price_at(moment: datetime, usage: Usage = NOTHING) -> PriceCalculation:
        return of.calc_price(counted(usage), provider, genai_request_timestamp=moment)

    prices = recorded(provider, of)
    for moment, size in product(moments(of), sizes(of)):
        stated = price_at(moment).model_price
        for usage in usages(size):
            theirs = price_at(moment, usage).total_price
            ours = cost_usd(prices, usage, moment)
            lacks_price = (
                not prices.rates
                or (stated.input_mtok is None and size > 0)
                or (stated.output_mtok is None and usage.output_tokens)
            )
            if ours is None and lacks_price:
                continue  # the package says 0 where it knows no price; we say that we don't know
            if ours is None or ours != theirs:
                yield f"{provider.id}/{of.id} {moment} {usage}: {ours}, the package {theirs}"


@pytest.mark.slow
@pytest.mark.wide
def test_every_published_model_costs_what_the_package_says_around_every_tier_and_date() -> None:
    assert len(MODELS) > 1_000
    wrong = [each for provider, of in MODELS for each in agrees(provider, of)]
    assert not wrong, wrong[:5]


GEMINI = "https://generativelanguage.googleapis.com/v1beta"
ANTHROPIC = "https://api.anthropic.com/v1"
BEDROCK = "https://bedrock-runtime.us-east-1.amazonaws.com"
AWS_MODEL = "anthropic.claude-sonnet-4-20250514-v1:0"


@every(
    ("provider", "name", "url", "parameters", "is_known"),
    [
        ("gemini", "gemini-2.5-pro", GEMINI, {"serviceTier": "standard"}, True),
        ("gemini", "gemini-2.5-pro", GEMINI, {"serviceTier": "flex"}, False),
        ("gemini", "gemini-2.5-pro", GEMINI, {"serviceTier": "PRIORITY"}, False),
        ("anthropic", "claude-opus-4-6", ANTHROPIC, {"inference_geo": "global"}, True),
        ("anthropic", "claude-opus-4-6", ANTHROPIC, {"inference_geo": "us"}, False),
        ("bedrock", AWS_MODEL, BEDROCK, {"serviceTier": {"type": "default"}}, True),
        ("bedrock", AWS_MODEL, BEDROCK, {"serviceTier": {"type": "priority"}}, False),
        ("bedrock", AWS_MODEL, BEDROCK, {"performanceConfig": {"latency": "standard"}}, True),
        ("bedrock", AWS_MODEL, BEDROCK, {"performanceConfig": {"latency": "optimized"}}, False),
        ("openai", "gpt-5", OPENAI["base_url"], {"service_tier": "auto"}, True),
        ("openai", "gpt-5", OPENAI["base_url"], {"service_tier": "flex"}, True),
        ("openai", "gpt-5", OPENAI["base_url"], {"service_tier": "scale"}, False),
    ],
)
def test_a_tier_or_place_without_a_published_price_has_no_known_cost(
    provider: str, name: str, url: str, parameters: dict[str, Any], is_known: bool
) -> None:
    snapshot = ModelSnapshot(
        key="m", provider=provider, model=name, settings={"base_url": url}, parameters=parameters
    )
    assert bool(PriceBook().prices(snapshot, NOON).rates) == is_known


def test_a_model_with_a_rate_for_tokens_that_no_usage_counts_has_no_known_cost() -> None:
    url = {"base_url": "https://api.perplexity.ai"}
    assert PriceBook().prices(model("sonar-pro", url), NOON).rates
    assert not PriceBook().prices(model("sonar-deep-research", url), NOON).rates


def test_a_short_request_is_not_charged_at_the_rate_of_a_long_one() -> None:
    prices = found("gpt-5.4")
    short, long = (
        cost_usd(prices, Usage(input_tokens=size, output_tokens=1_000), NOON)
        for size in (10_000, 300_000)
    )
    assert short is not None and long is not None
    usage = partial(PricedUsage, output_tokens=1_000)
    price = partial(calc_price, model_ref="gpt-5.4", provider_id="openai")
    assert short == price(usage(input_tokens=10_000), genai_request_timestamp=NOON).total_price
    assert long == price(usage(input_tokens=300_000), genai_request_timestamp=NOON).total_price
    assert long > short * 30


def test_every_model_of_an_openai_compatible_server_is_found_by_its_url() -> None:
    prices = found("gpt-4o-mini")
    assert prices.source is not None and prices.source.startswith("genai-prices ")
    assert prices.listed_as == "openai/gpt-4o-mini"


# -- what a run asks for ---------------------------------------------------------------------


def test_a_model_on_another_server_has_no_known_price() -> None:
    for settings in ({}, {"base_url": "http://127.0.0.1/v1"}, {"base_url": "http://10.1.2.3/v1"}):
        assert PriceBook().prices(model("gpt-4o-mini", settings), NOON) == ModelPrices(
            model_key="gpt-4o-mini"
        )


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
def test_nobody_publishes_prices_for_this_machine(host: str) -> None:
    """That is why none are looked up for it."""
    with pytest.raises(LookupError):
        calc_price(
            PricedUsage(input_tokens=1),
            "gpt-4o-mini",
            provider_api_url=f"http://{host}:8000/v1",
        )


def test_anthropic_without_a_base_url_is_priced_and_its_models_share_a_server() -> None:
    models = [
        Model(provider="anthropic", model=name, api_key_env="KEY")
        for name in ("claude-sonnet-4-5", "claude-opus-4-1")
    ]
    for each in models:
        prices = PriceBook().prices(snapshot(each, each.model), NOON)
        assert prices.listed_as is not None and prices.listed_as.startswith("anthropic/")
    written_out = models[0].model_copy(update={"base_url": "https://api.anthropic.com/v1/"})
    assert {server_of(each) for each in (*models, written_out)} == {"https://api.anthropic.com/v1"}


def test_what_a_cache_keeps_for_an_hour_costs_more_than_what_it_keeps_for_minutes() -> None:
    settings = {"base_url": "https://api.anthropic.com/v1"}
    prices = PriceBook().prices(model("claude-sonnet-4-5", settings), NOON)
    plain, short, hour = (
        cost_usd(prices, Usage(input_tokens=1_000, output_tokens=0, **cache), NOON)
        for cache in (
            {},
            {"cache_write_tokens": 1_000},
            {"cache_write_tokens": 1_000, "cache_write_1h_tokens": 1_000},
        )
    )
    assert plain is not None and short is not None and hour is not None
    assert plain < short < hour


def test_a_service_tier_is_priced_as_such_and_an_unknown_one_is_unknown() -> None:
    usage = Usage(input_tokens=1_000, output_tokens=1_000)
    standard = cost_usd(found("gpt-5.4"), usage, NOON)
    flex = cost_usd(found("gpt-5.4", service_tier="flex"), usage, NOON)
    assert standard is not None and flex is not None and flex < standard
    assert cost_usd(found("gpt-5.4", service_tier="auto"), usage, NOON) == standard
    assert found("gpt-5.4", service_tier="gold").rates == ()


def test_a_runs_own_price_list_comes_first_and_says_its_day() -> None:
    book = listed(
        {"model": "gpt-4o-mini", "base_url": "http://else/v1", **FREE},
        {"model": "gpt-4o-mini", "input_usd_per_million": 2, "output_usd_per_million": 3},
    )
    usage = Usage(input_tokens=1_000_000, output_tokens=1_000_000, cached_input_tokens=500_000)
    for settings in (OPENAI, {}):
        prices = book.prices(model("gpt-4o-mini", settings), NOON)
        assert cost_usd(prices, usage, NOON) == 5
        assert prices.source == "price list of 2026-11-01"


def test_a_price_list_has_tiers_and_cache_writes() -> None:
    prices = listed(
        {
            "model": "m", "input_usd_per_million": 1, "output_usd_per_million": 2,
            "cached_input_usd_per_million": 0.1, "cache_write_usd_per_million": 1.5,
            "cache_write_1h_usd_per_million": 3,
            "tiers": [
                {"over_input_tokens": 500, "input_usd_per_million": 8, "output_usd_per_million": 9},
                {"over_input_tokens": 200, "input_usd_per_million": 4, "output_usd_per_million": 5},
            ],
        }
    ).prices(model("m"), NOON)  # fmt: skip

    def cost(read: int, answered: int, **cache: int) -> Decimal | None:
        usage = Usage(input_tokens=read, output_tokens=answered, **cache)
        found = cost_usd(prices, usage, NOON)
        return None if found is None else found * 1_000_000

    assert cost(200, 10) == 200 * 1 + 10 * 2
    assert cost(201, 10) == 201 * 4 + 10 * 5
    assert cost(501, 10) == 501 * 8 + 10 * 9
    cached = {"cached_input_tokens": 50, "cache_write_tokens": 30, "cache_write_1h_tokens": 10}
    parts = Decimal("0.1") * 50 + Decimal("1.5") * 20 + 3 * 10
    assert cost(100, 0, **cached) == 20 * 1 + parts
    assert cost(501, 0, **cached) == 501 * 8  # a tier that says no more has one price for all input


def test_a_model_that_is_listed_for_nothing_costs_nothing_which_is_not_unknown() -> None:
    prices = listed({"model": "m", **FREE}).prices(model("m"), NOON)
    assert cost_usd(prices, Usage(input_tokens=9, output_tokens=9), NOON) == 0
    assert cost_usd(prices, Usage(input_tokens=9), NOON) is None


def test_a_published_model_without_any_price_of_tokens_is_unknown_and_not_free() -> None:
    without = [(provider, of) for provider, of in MODELS if of.prices == PublishedPrice()]
    assert without
    for provider, of in without:
        assert cost_usd(recorded(provider, of), NOTHING, NOON) is None


@pytest.mark.parametrize("usage", [Usage(), Usage(input_tokens=1), Usage(output_tokens=1)])
def test_an_answer_whose_tokens_were_not_counted_has_no_known_cost(usage: Usage) -> None:
    assert cost_usd(found("gpt-4o-mini"), usage, NOON) is None
