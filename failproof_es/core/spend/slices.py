"""A spend ceiling that several workers keep: each shard reserves a slice of what is left. Pure.

The database holds a row for each shard: what it has spent, and what is reserved for it. Each
request must fit into what its shard reserved. So at any moment, whatever process dies,

    recorded spend of all shards <= spent + reserved of all rows <= ceiling

`reserve` is the model of `store/functions/reserve_spending.sql`: a test does the same to both.
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
"""Of what is left nobody reserves more than one part in so many, unless a request needs it."""
_STEP = Decimal("1e-12")
_DOWN = Context(prec=2_000, rounding=ROUND_DOWN)


class SpendReport(NamedTuple):
    """What the holder of a shard says of it, and what it asks for. In US dollars."""

    spent: SpendState
    """What the shard has spent for good; nothing of it is reserved."""
    keeps: Decimal
    """What stays reserved for it: at least the worst cases of its requests in flight."""
    needs: Decimal = _NOTHING
    """The least that a request waits for, beside what is kept."""
    wants: Decimal = _NOTHING
    """What would spare it asking soon again."""
    number: int = 1
    """Grows with each report of a holder: one that arrives after a newer one is refused."""


class Grant(NamedTuple):
    """The answer to a report."""

    more: Decimal
    """What is reserved beside what was kept."""
    ceiling: Decimal
    total: SpendState
    """Of the whole run: what is spent, and reserved, as far as it was told."""
    is_wanted: bool
    """Whether somebody waits: who holds something unused gives it back."""


Rows = Mapping[int, SpendState]
"""By shard: what it has spent, and what is reserved for it."""


def total_of(rows: Rows) -> SpendState:
    """The sum of all shards."""
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
    """The rows after a report, and its answer. `is_wanted` says that somebody waits: then who
    needs nothing gets nothing more. `wanted` of the answer is of this report alone."""
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

    `room` is what of the slice no request in flight has. A request that ends gives back what it
    did not cost, to the same slice.
    """

    def __init__(self, ceiling: Decimal, spent: SpendState) -> None:
        self.ceiling = ceiling
        """That of the run."""
        self.own = spent
        """Of the shard; `reserved` is in flight."""
        self.room = _NOTHING
        self.spending = spent
        """Of the whole run, as it was told last."""
        self._reports = 0

    def reserve(self, amount: Decimal) -> bool:
        """See `SpendBudget`."""
        if not self.fits(amount):
            return False
        self.room = UNROUNDED.subtract(self.room, amount)
        self.own = self.own.reserving(amount)
        return True

    def settle(self, reserved: Decimal, charge: Charge) -> None:
        """See `SpendBudget`."""
        self.own = self.own.settling(reserved, charge)
        self.room = UNROUNDED.add(self.room, UNROUNDED.subtract(reserved, charge.usd))

    def fits(self, amount: Decimal) -> bool:
        """Whether the amount fits into the slice, beside everything that is in flight."""
        return amount <= self.room

    def may_fit_later(self, amount: Decimal) -> bool:
        """Whether it would fit if everything in flight cost nothing, and nobody held a slice."""
        return UNROUNDED.add(self.spending.spent, amount) <= self.ceiling

    def report(self, needs: Decimal, wants: Decimal, *, give_back: bool) -> SpendReport:
        """What to tell, so that `needs` fits, and best `wants`.

        With `give_back` nothing unused is kept: it is not in the slice from now on. That is due
        where somebody elsewhere waits, and where a request waits here in vain: two that wait, each
        with a part of what is left, would wait for ever.
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
        """Take in the answer to the last report."""
        self.ceiling, self.spending = grant.ceiling, grant.total
        self.room = UNROUNDED.add(self.room, grant.more)
