"""The spending of a run below its ceiling. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Protocol

from failproof_es.core.costs import Spent
from failproof_es.core.exact_numbers import UNROUNDED
from failproof_es.core.run import Run
from failproof_es.core.spend.charges import Charge
from failproof_es.support.plurals import plural

_NOTHING = Decimal(0)


def ceiling_of(run: Run) -> Decimal | None:
    """The spend ceiling of a run in US dollars: the last that was set; `None` without one."""
    if run.spend_ceiling is not None:
        return run.spend_ceiling.max_spend_usd
    execution = run.started.configuration.get("execution")
    max_spend = execution.get("max_spend_usd") if isinstance(execution, dict) else None
    return written_usd(max_spend) if isinstance(max_spend, int | float) else None


def written_usd(number: float) -> Decimal:
    """The decimal number as it was written, not its nearest binary fraction."""
    return Decimal(str(number))


@dataclass(frozen=True, slots=True)
class SpendState:
    """The spending of a run: known, unknown and in flight, in US dollars. Immutable."""

    known_usd: Decimal = _NOTHING
    """The costs of recorded answers, as `show` prints them."""
    unknown: Decimal = _NOTHING
    """The worst cases of ended requests of unknown cost."""
    unknown_requests: int = 0
    reserved: Decimal = _NOTHING
    """The worst cases of requests in flight."""

    @property
    def spent(self) -> Decimal:
        """The spending of ended requests: known costs and worst cases."""
        return UNROUNDED.add(self.known_usd, self.unknown)

    @property
    def committed(self) -> Decimal:
        """The most that can be spent once everything in flight has ended."""
        return UNROUNDED.add(self.spent, self.reserved)

    def reserving(self, amount: Decimal) -> SpendState:
        """The state with one more request in flight, whose worst case is `amount`."""
        return replace(self, reserved=UNROUNDED.add(self.reserved, amount))

    def settling(self, reserved: Decimal, charge: Charge) -> SpendState:
        """The state with one request less in flight: `reserved` was its worst case.

        `charge` is what it counts as spent.
        """
        rest = UNROUNDED.subtract(self.reserved, reserved)
        return replace(self, reserved=rest).charging(charge)

    def charging(self, charge: Charge) -> SpendState:
        """The state with one more charge that was not reserved, such as for a recorded outcome.

        A request that costs nothing at most has no unknown cost.
        """
        if charge.is_known or not charge.usd:
            return replace(self, known_usd=UNROUNDED.add(self.known_usd, charge.usd))
        unknown = UNROUNDED.add(self.unknown, charge.usd)
        return replace(self, unknown=unknown, unknown_requests=self.unknown_requests + 1)


class SpendBudget(Protocol):
    """The budget of a run, shared by everything that sends its requests. Amounts in US dollars."""

    ceiling: Decimal
    """The run's ceiling."""
    spending: SpendState
    """The spending of the whole run, as far as it is known here."""

    def reserve(self, amount: Decimal) -> bool:
        """Reserve the worst case of a request; false, and no change, if it exceeds the ceiling."""

    def settle(self, reserved: Decimal, charge: Charge) -> None:
        """Replace the reservation of a request by its charge, once its outcome is recorded."""

    def fits(self, amount: Decimal) -> bool:
        """Whether a request of this worst case fits now, in addition to everything in flight."""

    def may_fit_later(self, amount: Decimal) -> bool:
        """Whether a request of this worst case would fit if everything in flight cost nothing."""


class RunBudget:
    """A `SpendBudget` in the memory of one process."""

    def __init__(self, ceiling: Decimal, spending: SpendState) -> None:
        self.ceiling = ceiling
        self.spending = spending

    def reserve(self, amount: Decimal) -> bool:
        """Reserve the worst case of a request; false, and no change, if it exceeds the ceiling."""
        if not self.fits(amount):
            return False
        self.spending = self.spending.reserving(amount)
        return True

    def settle(self, reserved: Decimal, charge: Charge) -> None:
        """Replace the reservation of a request by its charge, once its outcome is recorded."""
        self.spending = self.spending.settling(reserved, charge)

    def fits(self, amount: Decimal) -> bool:
        """Whether a request of this worst case fits now, in addition to everything in flight."""
        return self.spending.reserving(amount).committed <= self.ceiling

    def may_fit_later(self, amount: Decimal) -> bool:
        """Whether a request of this worst case would fit if everything in flight cost nothing."""
        return UNROUNDED.add(self.spending.spent, amount) <= self.ceiling


def spent_text(spent: Spent, ceiling: Decimal) -> str:
    """The known cost of a run, the most that the rest may cost, and the ceiling.

    `$0.25 of $1.00, and up to $0.02 for 2 requests without a known cost`.
    """
    unknown = describe_unknown(spent.possible_usd, spent.unpriced + spent.possibly_charged)
    return f"{usd_text(spent.known_usd)} of {usd_text(ceiling)}{unknown}"


def describe_unknown(most_usd: Decimal, requests: int) -> str:
    """The requests without a known cost and the most that they may cost, as a suffix for what is
    known; empty without any."""
    if not requests:
        return ""
    return (
        f", and up to {usd_text(most_usd)} for {plural(requests, 'request')} without a known cost"
    )


def usd_text(amount: Decimal) -> str:
    """An amount for people, exact, with at least two decimals: `$0.50`, `$0.00012`."""
    text = f"{amount:f}"
    whole, _, decimals = text.partition(".")
    decimals = decimals.rstrip("0").ljust(2, "0")
    return f"${int(whole):,}.{decimals}"
