"""Computes the cost of an answer from the prices that its run recorded. Pure.

This and the function `failproof.cost_usd` in the database give the same cost for every answer.
An unknown cost is `None`, never 0: no price, no count of tokens, impossible counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Self

from failproof_es.core.exact_numbers import UNROUNDED
from failproof_es.events import ModelPrices, ResponseReceived, TokenPrices, Usage

Prices = Mapping[str, ModelPrices]
"""Prices by the key of the model or judge."""

_ONE_MILLIONTH = Decimal("0.000001")


def answer_cost(prices: Prices, response: ResponseReceived) -> Decimal | None:
    """The cost of an answer at its run's prices, in US dollars; `None` if unknown."""
    return cost_usd(
        prices.get(response.judge or response.model_key), response.usage, response.timestamp
    )


def cost_usd(prices: ModelPrices | None, usage: Usage, answered_at: datetime) -> Decimal | None:
    """The cost of an answer with this usage at this time, in US dollars.

    `None` if unknown: no price applies, the usage lacks a count of tokens, or its counts are
    impossible.
    """
    input_tokens, output_tokens = usage.input_tokens, usage.output_tokens
    if prices is None or input_tokens is None or output_tokens is None:
        return None
    rate = _rate(prices.rates, input_tokens, answered_at)
    if rate is None:
        return None
    cached = usage.cached_input_tokens or 0
    stored = usage.cache_write_tokens or 0
    stored_1h = usage.cache_write_1h_tokens or 0
    parts = (
        (input_tokens - cached - stored, rate.input),
        (cached, rate.cached_input),
        (stored - stored_1h, rate.cache_write),
        (stored_1h, rate.cache_write_1h),
        (output_tokens, rate.output),
    )
    cost = rate.request
    for tokens, per_million in parts:
        if tokens < 0 or (tokens and per_million is None):
            return None
        if tokens and per_million is not None:
            price = UNROUNDED.multiply(per_million, _ONE_MILLIONTH)
            cost = UNROUNDED.add(cost, UNROUNDED.multiply(price, Decimal(tokens)))
    return cost


def total(costs: Iterable[Decimal | None]) -> Decimal | None:
    """The exact sum of the costs, 0 without any; `None` if one cost is unknown."""
    added = Decimal(0)
    for cost in costs:
        if cost is None:
            return None
        added = UNROUNDED.add(added, cost)
    return added


def priced(prices: Prices, keys: Iterable[str]) -> bool:
    """Whether each of these models and judges has prices. `keys` are their keys.

    Without prices no cost is known, not even that of no answers.
    """
    return all((model_prices := prices.get(key)) is not None and model_prices.rates for key in keys)


def describe_tokens(tokens: int | None, unknown: int) -> str:
    """A number of tokens in words: `1,024 and 3 unknown`; `unknown` if `tokens` is `None`.

    `unknown` is the number of answers that reported no tokens.
    """
    if tokens is None:
        return "unknown"
    return f"{tokens:,}" + (f" and {unknown:,} unknown" if unknown else "")


@dataclass(slots=True)
class TokenCount:
    """A kind of tokens summed over answers, as far as their servers reported them."""

    total: int = 0
    """Tokens of the answers that reported them."""
    reporting: int = 0
    """The number of answers that reported tokens."""
    unknown: int = 0
    """The number of answers that reported no tokens; `total` lacks theirs."""

    @classmethod
    def of(cls, tokens: int | None) -> Self:
        """The count of one answer; `tokens` is `None` if it reported none."""
        return cls(0, 0, 1) if tokens is None else cls(tokens, 1)

    def include(self, other: TokenCount, times: int = 1) -> None:
        """Add the answers of `other`; with `times=-1` subtract them."""
        self.total += times * other.total
        self.reporting += times * other.reporting
        self.unknown += times * other.unknown

    @property
    def reported_total(self) -> int | None:
        """The sum of reported tokens; `None` if none were reported."""
        return self.total if self.reporting else None


@dataclass(slots=True)
class Spent:
    """The usage and cost of one model's or judge's answers. Sums cover the known values only."""

    answers: int = 0
    input: TokenCount = field(default_factory=TokenCount)
    output: TokenCount = field(default_factory=TokenCount)
    cached_input: TokenCount = field(default_factory=TokenCount)
    """Input tokens that were read from a cache."""
    cache_write: TokenCount = field(default_factory=TokenCount)
    """Input tokens that were written to a cache."""
    cache_write_1h: TokenCount = field(default_factory=TokenCount)
    """Tokens of `cache_write` that the cache keeps for an hour."""
    known_usd: Decimal = Decimal(0)
    """US dollars of the answers with a known cost."""
    unpriced: int = 0
    """Answers with an unknown cost."""
    possibly_charged: int = 0
    """Requests without an answer that their server may have charged (`core.spend`)."""
    possible_usd: Decimal = Decimal(0)
    """US dollars that these answers and requests cost at most, as far as a bound is known."""
    unbounded: int = 0
    """Those among these answers and requests whose cost has no bound."""

    @classmethod
    def of(cls, usage: Usage, cost: Decimal | None) -> Self:
        """The usage of one answer and its cost in US dollars, `None` if unknown.

        An unknown cost has no bound here: see `bounded`.
        """
        return cls(
            1,
            TokenCount.of(usage.input_tokens),
            TokenCount.of(usage.output_tokens),
            TokenCount.of(usage.cached_input_tokens),
            TokenCount.of(usage.cache_write_tokens),
            TokenCount.of(usage.cache_write_1h_tokens),
            Decimal(0) if cost is None else cost,
            int(cost is None),
            unbounded=int(cost is None),
        )

    def bounded(self, worst: Decimal | None) -> Self:
        """This one request of unknown cost, which costs at most `worst` US dollars; `None`: no
        bound is known."""
        if worst is None:
            return replace(self, unbounded=1)
        return replace(self, possible_usd=worst, unbounded=0)

    def add(self, usage: Usage, cost: Decimal | None) -> None:
        """Add one more answer, and its cost in US dollars, `None` if unknown."""
        self.include(Spent.of(usage, cost))

    def include(self, other: Spent, times: int = 1) -> None:
        """Add the answers of `other`; with `times=-1` subtract them."""
        self.answers += times * other.answers
        self.input.include(other.input, times)
        self.output.include(other.output, times)
        self.cached_input.include(other.cached_input, times)
        self.cache_write.include(other.cache_write, times)
        self.cache_write_1h.include(other.cache_write_1h, times)
        if other.known_usd:
            known_usd = UNROUNDED.multiply(other.known_usd, times)
            self.known_usd = UNROUNDED.add(self.known_usd, known_usd)
        self.unpriced += times * other.unpriced
        self.possibly_charged += times * other.possibly_charged
        if other.possible_usd:
            possible_usd = UNROUNDED.multiply(other.possible_usd, times)
            self.possible_usd = UNROUNDED.add(self.possible_usd, possible_usd)
        self.unbounded += times * other.unbounded

    @property
    def cost_usd(self) -> Decimal | None:
        """The cost of all answers; `None` if one cost is unknown: a part is not the total."""
        return None if self.unpriced else self.known_usd

    @property
    def most_usd(self) -> Decimal | None:
        """The most that all answers and requests may have cost; `None` without a bound."""
        return None if self.unbounded else UNROUNDED.add(self.known_usd, self.possible_usd)


def _rate(
    rates: Sequence[TokenPrices], input_tokens: int, answered_at: datetime
) -> TokenPrices | None:
    """The last of the rates whose conditions (time, number of input tokens) hold; else `None`."""
    moment = answered_at.astimezone(UTC)
    for rate in reversed(rates):
        if (
            (rate.since is None or moment.date() >= rate.since)
            and (rate.daily_from is None or moment.time() >= rate.daily_from)
            and (rate.daily_until is None or moment.time() < rate.daily_until)
            and (rate.over_input_tokens is None or input_tokens > rate.over_input_tokens)
        ):
            return rate
    return None
