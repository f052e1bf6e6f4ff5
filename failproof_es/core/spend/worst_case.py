"""The most that a request may cost: a bound of its tokens, at its highest prices. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from failproof_es.core.costs import Prices
from failproof_es.core.exact_numbers import UNROUNDED
from failproof_es.events import ModelPrices, RequestSent, TokenPrices

HIDDEN_INPUT_TOKENS = 1_024
"""Tokens that a server may add to a request and charge: its own system prompt, its text about
tools, the marks between messages."""
TOKENS_BOUND = (
    "max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens", "num_predict",
    "n_predict",
)  # fmt: skip
"""Parameters that bound the tokens of an answer. Of several the largest counts."""
THOUGHTS_BOUND = ("budget_tokens", "thinking_budget", "max_reasoning_tokens", "max_tokens")
"""Keys inside another parameter (`thinking`, `reasoning`) that bound the thoughts. Most servers
count thoughts as part of the answer; they are added in case one does not."""
ANSWERS_ASKED = ("n", "best_of", "num_return_sequences", "candidate_count")
"""Parameters that ask for several answers to one request."""
NOT_BOUNDED = frozenset(
    {
        "audio", "container", "conversation", "documents", "mcp_servers", "modalities", "models",
        "plugins", "prediction", "previous_response_id", "search_parameters", "tools",
        "web_search_options",
    }
)  # fmt: skip
"""Parameters with which a server may charge for more than the text of the request and the tokens of
the answer: searches, files it keeps, other models."""

_ONE_MILLIONTH = Decimal("0.000001")
_NOTHING = Decimal(0)


def worst_case(prices: Prices, request: RequestSent) -> Decimal | None:
    """The most that a request may cost at its run's prices, in US dollars.

    `None` if nothing bounds it: no prices, or parameters that do not bound the answer.
    """
    model_prices = prices.get(request.judge or request.model_key)
    max_output_tokens = most_output_tokens(request.parameters)
    if model_prices is None or max_output_tokens is None:
        return None
    return most_usd(model_prices, most_input_tokens(request.body_bytes), max_output_tokens)


def most_input_tokens(body_bytes: int) -> int:
    """The upper bound of a server's input tokens for a body of this size.

    A token of text takes at least one byte, and the body contains the whole text of every message,
    tool and schema: JSON only makes it longer. A case holds only text, and no image or file by its
    address. `HIDDEN_INPUT_TOKENS` are added for the server's own text.
    """
    return body_bytes + HIDDEN_INPUT_TOKENS


def most_output_tokens(parameters: Mapping[str, Any]) -> int | None:
    """The most tokens that a server may write with these parameters, thoughts included.

    `None` if nothing bounds them.
    """
    if not NOT_BOUNDED.isdisjoint(parameters):
        return None
    bounds = [parameters[name] for name in TOKENS_BOUND if name in parameters]
    thoughts = [
        inside[name]
        for inside in parameters.values()
        if isinstance(inside, Mapping)
        for name in THOUGHTS_BOUND
        if inside.get(name) is not None
    ]
    answers = [parameters[name] for name in ANSWERS_ASKED if parameters.get(name) is not None]
    numbers = [*bounds, *thoughts, *answers]
    if not bounds or not all(type(number) is int and number >= 0 for number in numbers):
        return None
    most: int = (max(bounds) + sum(thoughts)) * max([1, *answers])
    return most


def most_usd(prices: ModelPrices, input_tokens: int, output_tokens: int) -> Decimal | None:
    """The most that one request with at most so many tokens may cost, in US dollars.

    Every rate that may apply is considered, at whatever time the answer comes, and every input
    token counts at the highest of its prices: uncached, from a cache or into one. `None` if a
    price is missing, so that nothing bounds the cost.
    """
    if not is_bounded(prices):
        return None
    reached = (
        rate
        for rate in prices.rates
        if rate.over_input_tokens is None or rate.over_input_tokens < input_tokens
    )
    return max((_most_at(rate, input_tokens, output_tokens) for rate in reached), default=None)


def is_bounded(prices: ModelPrices | None) -> bool:
    """Whether the prices give the cost of every input and output token at any time.

    False for `None`.
    """
    return (
        prices is not None
        and any(_always_holds(rate) for rate in prices.rates)
        and all(rate.input is not None and rate.output is not None for rate in prices.rates)
    )


def _always_holds(rate: TokenPrices) -> bool:
    return rate.over_input_tokens is None


def _most_at(rate: TokenPrices, input_tokens: int, output_tokens: int) -> Decimal:
    read = (rate.input, rate.cached_input, rate.cache_write, rate.cache_write_1h)
    dearest = max(price for price in read if price is not None)
    cost = rate.request
    for tokens, per_million in ((input_tokens, dearest), (output_tokens, rate.output)):
        price = UNROUNDED.multiply(per_million or _NOTHING, _ONE_MILLIONTH)
        cost = UNROUNDED.add(cost, UNROUNDED.multiply(price, Decimal(tokens)))
    return cost
