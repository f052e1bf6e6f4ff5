"""Flips are counted by direction, over pairs with two verdicts, and the cases are the clusters."""

from __future__ import annotations

from failproof_es.reading.judge_flips import ProbedPair, ProbeFlips
from failproof_es.support.statistics import rate

ONE, TWO, THREE = ("s", "one"), ("s", "two"), ("s", "three")


def test_flips_are_counted_by_direction_and_cluster() -> None:
    pairs = [
        ProbedPair(ONE, before=False, after=True),
        ProbedPair(ONE, before=False, after=True),
        ProbedPair(ONE, before=False, after=False),
        ProbedPair(TWO, before=True, after=False),
        ProbedPair(TWO, before=True, after=True),
        ProbedPair(TWO, before=None, after=True),
        ProbedPair(THREE, before=True, after=None),
        ProbedPair(THREE, before=None, after=None),
    ]
    flips = ProbeFlips.of("judge", "authority", pairs)
    assert flips.rate == rate([True, True, False, True, False], [ONE, ONE, ONE, TWO, TWO])
    assert (flips.to_pass, flips.failing, flips.to_fail, flips.passing) == (2, 3, 1, 2)
    assert flips.undecided == 3


def test_pairs_without_verdicts_have_no_rate() -> None:
    row = ProbeFlips.of("judge", "repeat", [ProbedPair(ONE, None, None)]).as_json()
    assert (row["flips"], row["pairs"], row["rate"], row["interval"]) == (0, 0, None, None)
    assert row["undecided"] == 1
