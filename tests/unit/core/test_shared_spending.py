"""A ceiling in slices: whatever is lost or dies, no more is on record than the ceiling."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as some

from failproof_es.core.spend import Charge, SliceBudget, SpendState
from failproof_es.core.spend.slices import Rows, reserve

NOTHING = Decimal(0)
SHARDS = 3


class Shard:
    """A shard, its log, and the worker that drives it."""

    def __init__(self, ceiling: Decimal) -> None:
        self.answered = SpendState()
        self.in_flight: list[Decimal] = []
        self.worker = SliceBudget(ceiling, SpendState())

    @property
    def recorded(self) -> SpendState:
        """What the log says: a request without an outcome at its worst case."""
        lost = sum(self.in_flight, NOTHING)
        known, unknown = self.answered.known_usd, self.answered.unknown + lost
        return SpendState(known, unknown, self.answered.unknown_requests + len(self.in_flight))


actions = some.lists(
    some.tuples(
        some.sampled_from(["report", "lost", "unheard", "send", "answer", "error", "die"]),
        some.integers(0, SHARDS - 1),
        some.integers(1, 30),
        some.booleans(),
    ),
    max_size=150,
)


@given(actions, some.integers(1, 100))
def test_no_more_is_recorded_than_the_ceiling_whatever_is_lost_or_dies(
    done: list[tuple[str, int, int, bool]], most: int
) -> None:
    ceiling = Decimal(most)
    shards = [Shard(ceiling) for _ in range(SHARDS)]
    rows: Rows = {number: SpendState() for number in range(SHARDS)}
    for what, number, dollars, give_back in done:
        shard, amount = shards[number], Decimal(dollars)
        if what in ("report", "lost", "unheard"):
            report = shard.worker.report(amount, 3 * amount, give_back=give_back)
            if what != "unheard":
                rows, grant = reserve(ceiling, rows, number, report)
            if what == "report":
                shard.worker.granted(grant)
        elif what == "send" and shard.worker.reserve(amount):
            shard.in_flight.append(amount)
        elif what in ("answer", "error") and shard.in_flight:
            worst = shard.in_flight.pop()
            charge = (
                Charge(worst, is_known=False)
                if what == "error"
                else Charge(worst / 4, is_known=True)
            )
            shard.answered = shard.answered.charging(charge)
            shard.worker.settle(worst, charge)
        elif what == "die":
            rows = {**rows, number: shard.recorded}
            shard.answered, shard.in_flight = shard.recorded, []
            shard.worker = SliceBudget(ceiling, shard.answered)
        assert sum((each.recorded.spent for each in shards), NOTHING) <= ceiling
        assert sum((row.committed for row in rows.values()), NOTHING) <= ceiling


def test_two_that_wait_each_with_a_part_of_what_is_left_do_not_wait_for_ever() -> None:
    ceiling = Decimal(10)
    rows: Rows = {0: SpendState(), 1: SpendState()}
    workers = [SliceBudget(ceiling, SpendState()) for _ in range(2)]
    for number, worker in enumerate(workers):
        rows, grant = reserve(
            ceiling, rows, number, worker.report(Decimal(5), NOTHING, give_back=False)
        )
        worker.granted(grant)
        assert worker.room == 5
    for number, worker in enumerate(workers):
        report = worker.report(Decimal(8), NOTHING, give_back=False)
        rows, grant = reserve(ceiling, rows, number, report)
        assert report.needs == 3 and grant.more == 0 and grant.is_wanted
        worker.granted(grant)
        assert worker.may_fit_later(Decimal(8)) and not worker.may_fit_later(Decimal(11))
    for number, worker in enumerate(workers):
        rows, grant = reserve(
            ceiling, rows, number, worker.report(Decimal(8), NOTHING, give_back=True)
        )
        worker.granted(grant)
    assert workers[1].fits(Decimal(8)) and not workers[0].fits(Decimal(8))


def test_an_answer_that_costs_more_than_it_could_is_told_and_no_more_is_reserved() -> None:
    worker = SliceBudget(Decimal(10), SpendState())
    rows, grant = reserve(Decimal(10), {}, 0, worker.report(Decimal(5), NOTHING, give_back=False))
    worker.granted(grant)
    assert worker.reserve(Decimal(5))
    worker.settle(Decimal(5), Charge(Decimal(12), is_known=True, beyond=True))
    assert not worker.fits(Decimal(1))
    rows, grant = reserve(Decimal(10), rows, 0, worker.report(Decimal(1), NOTHING, give_back=False))
    assert grant.more == 0 and grant.total.spent == 12
