"""How a run stands: what is added to its counts and taken out again, and what follows from them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.core.latencies import latency_bucket, percentile_ms
from failproof_es.core.outcome import outcome_of
from failproof_es.core.summary import RunCounts
from tests.unit.histories import KEY, History, a_case


@pytest.mark.parametrize(
    ("ms", "bucket"),
    [
        (0.0, 0), (0.0004, 0), (0.001, 1), (0.999, 999), (1.0, 1000), (12.34, 12_300),
        (12.36, 12_400), (999.4, 999_000), (999.6, 1_000_000), (60_000.0, 60_000_000),
    ],
)  # fmt: skip
def test_a_latency_counts_as_three_digits(ms: float, bucket: int) -> None:
    assert latency_bucket(ms) == bucket


@given(st.floats(min_value=0.001, max_value=10**7))
def test_no_latency_is_told_more_than_half_a_percent_off(ms: float) -> None:
    assert latency_bucket(ms) / 1000 == pytest.approx(ms, rel=0.0051, abs=0.0006)


def test_a_percentile_is_that_of_the_nearest_rank() -> None:
    assert percentile_ms({}, 50) is None
    assert percentile_ms({1000: 1}, 95) == 1.0
    assert percentile_ms({1000: 1, 2000: 1, 9000: 2}, 50) == 2.0
    assert percentile_ms({1000: 19, 9000: 1}, 95) == 1.0
    assert percentile_ms({1000: 18, 9000: 2}, 95) == 9.0


def test_latencies_are_those_of_the_model_under_test_and_answers_include_judges() -> None:
    history = History().sent().answered().classified().sent(turn=1, purpose="judge", judge="j")
    events = history.answered(turn=1, purpose="judge", judge="j").events
    outcome = outcome_of(KEY, events, {})
    assert outcome.response_ms == (5.0,) and outcome.answers == 2
    counts = RunCounts()
    counts.add(outcome, a_case())
    assert counts.latencies == {5000: 1} and counts.asking[KEY.model_key].answers == 2
