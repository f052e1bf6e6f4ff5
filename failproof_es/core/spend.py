"""The spend ceiling of a run: what a request may cost at most, and what counts as spent. Pure.

Before a request is recorded its worst case is reserved. Once its outcome is recorded, the
reservation is replaced by what that is charged: the cost of its usage where it is known
(`failproof_es.core.costs`), else the worst case. So at any moment, whatever process dies,

    costs of recorded answers <= spent + reserved <= ceiling

as long as each answer stays within its worst case. A server that ignores `max_tokens` may exceed
it: `Charge.beyond` says so, and the run stops. Everything is exact: no sum is rounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Protocol

from failproof_es.core.costs import Prices, answer_cost
from failproof_es.core.exact_numbers import UNROUNDED
from failproof_es.core.run import Run
from failproof_es.events import (
    AttemptLost,
    ErrorRecorded,
    ModelPrices,
    Rate,
    RequestSent,
    ResponseReceived,
)
from failproof_es.support.plurals import plural

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
_TIMED_OUT = (408, 499)
"""Statuses of the 400s after which the server may have answered all the same."""

Outcome = ResponseReceived | ErrorRecorded | AttemptLost


def ceiling_of(run: Run) -> Decimal | None:
    """The spend ceiling of a run in US dollars: the last that was set; `None` without one."""
    if run.spend_ceiling is not None:
        return run.spend_ceiling.max_spend_usd
    execution = run.started.configuration.get("execution")
    written = execution.get("max_spend_usd") if isinstance(execution, dict) else None
    return written_usd(written) if isinstance(written, int | float) else None


def written_usd(number: float) -> Decimal:
    """The decimal number as it was written, not its nearest binary fraction."""
    return Decimal(str(number))


# -- the worst case of a request -------------------------------------------------------------


def worst_case(prices: Prices, request: RequestSent) -> Decimal | None:
    """The most that a request may cost at its run's prices; `None` where nothing bounds it."""
    asked = prices.get(request.judge or request.model_key)
    written = most_output_tokens(request.parameters)
    if asked is None or written is None:
        return None
    return most_usd(asked, most_input_tokens(len(request.body.encode())), written)


def most_input_tokens(body_bytes: int) -> int:
    """The most tokens that a server may read of a body of so many bytes.

    A token of text stands for at least one byte of it, and the text of every message, tool and
    schema stands in the body whole: JSON only makes it longer. A case holds text alone, and no
    image or file by its address. `HIDDEN_INPUT_TOKENS` are what a server adds.
    """
    return body_bytes + HIDDEN_INPUT_TOKENS


def most_output_tokens(parameters: Mapping[str, Any]) -> int | None:
    """The most tokens that a request with these parameters lets a server write, thoughts included.

    `None` where nothing bounds them.
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
    """The most that one request may cost with at most so many tokens, in US dollars.

    Every rate that may hold counts, at whatever time the answer comes, and every token read counts
    at the dearest of its prices: fresh, from a cache or into one. `None` without such prices.
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
    """Whether the prices say what every token costs, read or written, at any time."""
    return (
        prices is not None
        and any(_always_holds(rate) for rate in prices.rates)
        and all(rate.input is not None and rate.output is not None for rate in prices.rates)
    )


def _always_holds(rate: Rate) -> bool:
    return rate.over_input_tokens is None


def _most_at(rate: Rate, input_tokens: int, output_tokens: int) -> Decimal:
    read = (rate.input, rate.cached_input, rate.cache_write, rate.cache_write_1h)
    dearest = max(price for price in read if price is not None)
    cost = rate.request
    for tokens, per_million in ((input_tokens, dearest), (output_tokens, rate.output)):
        price = UNROUNDED.multiply(per_million or _NOTHING, _ONE_MILLIONTH)
        cost = UNROUNDED.add(cost, UNROUNDED.multiply(price, Decimal(tokens)))
    return cost


# -- what an outcome is charged --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Charge:
    """What a request with an outcome counts as spent, in US dollars."""

    usd: Decimal
    known: bool
    """Whether that is what it cost; else it is the worst case, because nobody knows."""
    beyond: bool = False
    """Whether it cost more than its worst case."""


def charge_of(prices: Prices, worst: Decimal, outcome: Outcome) -> Charge:
    """What a request with this worst case and this outcome is charged.

    An answer without usage and a lost attempt keep the worst case: a server may have charged it.
    So does an error, unless it says that nothing was answered.
    """
    if isinstance(outcome, ResponseReceived):
        cost = answer_cost(prices, outcome)
        if cost is not None:
            return Charge(cost, known=True, beyond=cost > worst)
    elif isinstance(outcome, ErrorRecorded) and costs_nothing(outcome):
        return Charge(_NOTHING, known=True)
    return Charge(worst, known=False)


def costs_nothing(error: ErrorRecorded) -> bool:
    """Whether the error says that the server did not answer: it refused, or was not reached."""
    if error.status is None:
        return error.kind == "connection" and error.latency_ms is None  # nothing was written to it
    refused = 400 <= error.status < 500 and error.status not in _TIMED_OUT
    return refused or error.disposition == "deferred"


# -- the budget ------------------------------------------------------------------------------


class SpendBudget(Protocol):
    """What a run may still spend, shared by whatever sends its requests. Amounts are US dollars."""

    def reserve(self, amount: Decimal) -> bool:
        """Reserve the worst case of a request; false if that would exceed the ceiling."""

    def settle(self, reserved: Decimal, charge: Charge) -> None:
        """Replace a reservation, once its outcome is durable, by what that is charged."""


@dataclass(frozen=True, slots=True)
class Spending:
    """What a run has spent, may have spent, and has in flight. In US dollars; never changed."""

    known: Decimal = _NOTHING
    """The costs of recorded answers: what `show` prints."""
    unknown: Decimal = _NOTHING
    """The worst cases of requests whose cost nobody knows."""
    unknown_requests: int = 0
    reserved: Decimal = _NOTHING
    """The worst cases of requests in flight."""

    @property
    def spent(self) -> Decimal:
        """What counts as spent for good."""
        return UNROUNDED.add(self.known, self.unknown)

    @property
    def committed(self) -> Decimal:
        """What is spent, and what may be once everything in flight has ended."""
        return UNROUNDED.add(self.spent, self.reserved)

    def reserving(self, amount: Decimal) -> Spending:
        """With one more request in flight."""
        return replace(self, reserved=UNROUNDED.add(self.reserved, amount))

    def settling(self, reserved: Decimal, charge: Charge) -> Spending:
        """With one request less in flight, and its charge."""
        rest = UNROUNDED.subtract(self.reserved, reserved)
        return replace(self, reserved=rest).charging(charge)

    def charging(self, charge: Charge) -> Spending:
        """With one more outcome that was not reserved here: it stood on record already."""
        if charge.known:
            return replace(self, known=UNROUNDED.add(self.known, charge.usd))
        unknown = UNROUNDED.add(self.unknown, charge.usd)
        return replace(self, unknown=unknown, unknown_requests=self.unknown_requests + 1)


class RunBudget:
    """A `SpendBudget` in the memory of one process."""

    def __init__(self, ceiling: Decimal, spending: Spending) -> None:
        self.ceiling = ceiling
        self.spending = spending

    def reserve(self, amount: Decimal) -> bool:
        """See `SpendBudget`."""
        reserved = self.spending.reserving(amount)
        if reserved.committed > self.ceiling:
            return False
        self.spending = reserved
        return True

    def settle(self, reserved: Decimal, charge: Charge) -> None:
        """See `SpendBudget`."""
        self.spending = self.spending.settling(reserved, charge)

    def may_fit_later(self, amount: Decimal) -> bool:
        """Whether the amount would fit if everything in flight cost nothing."""
        return UNROUNDED.add(self.spending.spent, amount) <= self.ceiling


# -- words -----------------------------------------------------------------------------------


def spent_text(known: Decimal, unpriced: int, ceiling: Decimal) -> str:
    """What answers cost, of a ceiling: `$0.25 of $1.00`; `unpriced` answers are of unknown cost."""
    unknown = f", and {plural(unpriced, 'answer')} of unknown cost" if unpriced else ""
    return f"{usd_text(known)} of {usd_text(ceiling)}{unknown}"


def usd_text(amount: Decimal) -> str:
    """An amount for people, exact, with at least two decimals: `$0.50`, `$0.00012`."""
    text = f"{amount:f}"
    whole, _, decimals = text.partition(".")
    decimals = decimals.rstrip("0").ljust(2, "0")
    return f"${int(whole):,}.{decimals}"
