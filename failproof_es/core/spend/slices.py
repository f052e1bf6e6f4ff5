"""A spend ceiling that several workers keep: each shard reserves a slice of what is left. Pure.

The database holds a row for each shard: what it has spent, and what is reserved for it. Each
request must fit into what its shard reserved. So at any moment, whatever process dies,

    recorded spend of all shards <= spent + reserved of all rows <= ceiling

`reserve` is the model of `store/functions/reserve_spending.sql`: a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import ROUND_DOWN, Context, Decimal
from typing import NamedTuple

from failproof_es.core.exact_numbers import UNROUNDED
from failproof_es.core.spend.budget import SpendState
from failproof_es.core.spend.charges import Charge

_NOTHING = Decimal(0)
_FEW = Decimal(8)
"""A report reserves at most 1/`_FEW` of the free amount, unless a request needs more."""
_STEP = Decimal("1e-12")
_DOWN = Context(prec=2_000, rounding=ROUND_DOWN)


class SpendReport(NamedTuple):
    """A shard's spending as its holder reports it, and the amount it asks for. In US dollars."""

    spent: SpendState
    """The spending of the shard; its `reserved` is 0."""
    keeps: Decimal
    """The amount that stays reserved: at least the worst cases of the requests in flight."""
    needs: Decimal = _NOTHING
    """The least amount that a request waits for, in addition to `keeps`."""
    wants: Decimal = _NOTHING
    """The amount with which the holder need not ask again soon."""
    number: int = 1
    """Grows with each report of a holder: a report that arrives after a newer one is refused."""


class Grant(NamedTuple):
    """The answer to a `SpendReport`, in US dollars."""

    more: Decimal
    """The amount reserved in addition to `keeps`."""
    ceiling: Decimal
    total: SpendState
    """The spending and reservations of the whole run, as far as they were reported."""
    is_wanted: bool
    """Whether a holder waits for more, so that others return their unused budget."""


Rows = Mapping[int, SpendState]
"""The spending and the reservation of each shard, by its number."""


def total_of(rows: Rows) -> SpendState:
    """The sum of the spending and the reservations of all shards."""
    total = SpendState()
    for row in rows.values():
        total = SpendState(
            UNROUNDED.add(total.known_usd, row.known_usd),
            UNROUNDED.add(total.unknown, row.unknown),
            total.unknown_requests + row.unknown_requests,
            UNROUNDED.add(total.reserved, row.reserved),
        )
    return total


def reserve(
    ceiling: Decimal, rows: Rows, shard: int, report: SpendReport, *, is_wanted: bool = False
) -> tuple[Rows, Grant]:
    """The rows after a report of `shard`, and the answer to it.

    With `is_wanted` another holder waits: then a report without `needs` is granted nothing.
    `is_wanted` of the answer tells only whether this report waits in vain.
    """
    updated = {**rows, shard: replace(report.spent, reserved=report.keeps)}
    free = UNROUNDED.subtract(ceiling, total_of(updated).committed)
    if report.needs > max(free, _NOTHING):
        return updated, Grant(_NOTHING, ceiling, total_of(updated), is_wanted=True)
    if is_wanted and not report.needs:
        return updated, Grant(_NOTHING, ceiling, total_of(updated), is_wanted=False)
    share = _DOWN.quantize(_DOWN.divide(free, _FEW), _STEP)
    more = max(report.needs, min(report.wants, share), _NOTHING)
    updated[shard] = updated[shard].reserving(more)
    return updated, Grant(more, ceiling, total_of(updated), is_wanted=False)


class SliceBudget:
    """A `SpendBudget` of one shard: the slice that its holder may spend without asking.

    `room` is the part of the slice that no request in flight has reserved. A request that ends
    returns the unspent part of its reservation to the slice.
    """

    def __init__(self, ceiling: Decimal, spent: SpendState) -> None:
        self.ceiling = ceiling
        """The run's ceiling."""
        self.own = spent
        """The spending of the shard; its `reserved` is in flight."""
        self.room = _NOTHING
        self.spending = spent
        """The spending of the whole run, by the last answer."""
        self._reports = 0

    def reserve(self, amount: Decimal) -> bool:
        """Reserve the worst case of a request; false, and no change, if the slice has less room."""
        if not self.fits(amount):
            return False
        self.room = UNROUNDED.subtract(self.room, amount)
        self.own = self.own.reserving(amount)
        return True

    def settle(self, reserved: Decimal, charge: Charge) -> None:
        """Replace the reservation of a request by its charge, once its outcome is recorded."""
        self.own = self.own.settling(reserved, charge)
        self.room = UNROUNDED.add(self.room, UNROUNDED.subtract(reserved, charge.usd))

    def fits(self, amount: Decimal) -> bool:
        """Whether the amount fits into the slice, in addition to everything in flight."""
        return amount <= self.room

    def may_fit_later(self, amount: Decimal) -> bool:
        """Whether the amount would fit if all in flight cost nothing and no shard held a slice."""
        return UNROUNDED.add(self.spending.spent, amount) <= self.ceiling

    def report(self, needs: Decimal, wants: Decimal, *, give_back: bool) -> SpendReport:
        """The report that asks for room for `needs`, and preferably for `wants`.

        With `give_back` the slice gives up everything unused, from now on. That is due if another
        holder waits, or a request waits here in vain: two holders that wait, each with a part of
        the rest, would wait for ever.
        """
        if give_back:
            self.room = min(self.room, _NOTHING)
        unused = max(self.room, _NOTHING)
        self._reports += 1
        return SpendReport(
            replace(self.own, reserved=_NOTHING),
            UNROUNDED.add(self.own.reserved, unused),
            max(UNROUNDED.subtract(needs, unused), _NOTHING),
            max(UNROUNDED.subtract(wants, unused), _NOTHING),
            self._reports,
        )

    def granted(self, grant: Grant) -> None:
        """Apply the answer to the last report: the slice grows by the granted amount."""
        self.ceiling, self.spending = grant.ceiling, grant.total
        self.room = UNROUNDED.add(self.room, grant.more)
