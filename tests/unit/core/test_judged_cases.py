"""How many cases evaluations with a verdict are of at least: what intervals rest on."""

from __future__ import annotations

import pytest

from failproof_es.console.shown import rate_of_group
from failproof_es.core.tally import Group, fewest_judged_cases


@pytest.mark.parametrize(
    ("passed", "failed", "per_case", "cases"),
    [
        (0, 0, 3, 0),
        (1, 0, 3, 1),
        (0, 3, 3, 1),
        (3, 1, 3, 2),
        (100, 20, 3, 40),  # of 100 cases, 60 of which have no verdict
        (200, 100, 3, 100),
        (7, 5, 1, 12),
    ],
)
def test_each_case_has_so_many_at_most(passed: int, failed: int, per_case: int, cases: int) -> None:
    assert fewest_judged_cases(Group(passed=passed, failed=failed), per_case) == cases


def test_cases_without_a_verdict_make_no_interval_narrower() -> None:
    few = rate_of_group(Group(finished=300, cases=100, passed=100, failed=20), 3)
    same = rate_of_group(Group(finished=120, cases=40, passed=100, failed=20), 3)
    assert few == same
    every = rate_of_group(Group(finished=300, cases=100, passed=250, failed=50), 3)
    assert few.low is not None and few.high is not None
    assert every.low is not None and every.high is not None
    assert few.high - few.low > every.high - every.low
