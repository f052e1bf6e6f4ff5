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
    flips = ProbeFlips.of(1, "judge", "authority", pairs)
    expected = rate([True, True, False, True, False], [ONE, ONE, ONE, TWO, TWO])
    assert expected.interval is not None
    assert (flips.flips, flips.pairs, flips.clusters, flips.rate) == (3, 5, 2, expected.value)
    assert flips.interval == (expected.interval.low, expected.interval.high)
    assert (flips.to_pass, flips.failing, flips.to_fail, flips.passing) == (2, 3, 1, 2)
    assert flips.undecided == 3


def test_pairs_without_verdicts_have_no_rate() -> None:
    none = ProbeFlips.of(1, "judge", "repeat", [ProbedPair(ONE, None, None)])
    assert (none.flips, none.pairs, none.rate, none.interval) == (0, 0, None, None)
    assert none.undecided == 1
