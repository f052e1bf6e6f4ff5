"""The first storms; `python -m tests.chaos --storms 200` runs more."""

from __future__ import annotations

import pytest

from tests.chaos.__main__ import storms
from tests.chaos.grounds import Grounds
from tests.chaos.plan import Plan

STORMS = 8
"""So few that each kind of strike, and each end, still comes."""


@pytest.mark.slow
@pytest.mark.wide
def test_the_first_storms() -> None:
    with Grounds() as grounds:
        wrong = [
            f"python -m tests.chaos --storms 1 --seed {result.plan.seed}: {result.wrong[0]}\n"
            + "\n".join(result.told)
            for result in storms(range(STORMS), grounds)
            if result.wrong
        ]
    assert wrong == [], "\n".join(wrong)


def test_a_seed_draws_the_same_storm_again() -> None:
    assert [Plan.draw(seed) for seed in range(50)] == [Plan.draw(seed) for seed in range(50)]


def test_what_can_strike_does_strike() -> None:
    plans = [Plan.draw(seed) for seed in range(STORMS)]
    struck = {strike.kind for plan in plans for strike in plan.strikes}
    assert len(struck) == 9, struck
    assert {plan.finale for plan in plans} == {"workers", "two resume"}
