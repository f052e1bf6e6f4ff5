"""How many requests a server may have at once: halved when it complains, grown by answers."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.engine.limits.server_limit import Limit, is_outage
from failproof_es.models.protocol import ModelError

CEILING = 40


def answered(limit: Limit, times: int, sent_at: float = 1_000.0) -> Limit:
    for _ in range(times):
        limit = limit.after_answer(sent_at)
    return limit


def test_a_server_that_complains_of_nothing_gets_all_there_is() -> None:
    assert answered(Limit.open(CEILING), 1_000) == Limit.open(CEILING)


def test_one_burst_of_complaints_halves_once() -> None:
    limit = Limit.open(CEILING)
    for at in (10.0, 10.1, 10.2):
        limit = limit.after_rate_limit(sent_at=9.0, now=at)
    assert limit.allowed == CEILING // 2


def test_a_complaint_about_what_was_sent_since_halves_again_but_never_below_one() -> None:
    limit = Limit.open(CEILING)
    for at in range(20):
        limit = limit.after_rate_limit(sent_at=at + 0.5, now=at + 1.0)
    assert limit.allowed == 1


def test_a_whole_round_of_answers_is_one_step_up_until_the_ceiling() -> None:
    limit = Limit.open(CEILING).after_rate_limit(0.0, 1.0)
    assert answered(limit, 19).allowed == 20
    assert answered(limit, 20).allowed == 22
    assert answered(limit, 10_000).allowed == CEILING


def test_answers_to_what_was_sent_before_the_cut_say_nothing_about_the_new_limit() -> None:
    limit = Limit.open(CEILING).after_rate_limit(sent_at=4.0, now=5.0)
    assert answered(limit, 1_000, sent_at=4.9) == limit


def test_the_longest_retry_after_counts() -> None:
    limit = Limit.open(CEILING).hold(now=10.0, retry_after_s=5.0).hold(now=11.0, retry_after_s=1.0)
    assert limit.held_until == 15.0
    assert limit.after_hold(14.9) == limit
    assert limit.after_hold(15.0).held_until is None


def test_how_long_a_server_refuses_counts_from_its_first_refusal_and_ends_with_an_answer() -> None:
    limit = Limit.open(CEILING)
    assert limit.refusing_for_s(1_000.0) == 0.0
    limit = limit.after_refusal(sent_at=10.0).after_refusal(sent_at=20.0)
    assert limit.refusing_for_s(25.0) == 15.0
    assert limit.hold(25.0, 100.0).refusing_for_s(25.0) == 115.0, "a hold to come counts, too"
    assert limit.after_answer(sent_at=21.0).refusing_for_s(30.0) == 0.0


@given(
    st.integers(min_value=1, max_value=1_000),
    st.lists(st.tuples(st.sampled_from(["answer", "429", "hold"]), st.floats(0, 10)), max_size=200),
)
def test_whatever_happens_between_one_and_the_ceiling_may_go(
    ceiling: int, happenings: list[tuple[str, float]]
) -> None:
    limit, now = Limit.open(ceiling), 0.0
    for what, seconds in happenings:
        before, sent_at, now = limit, now, now + seconds
        match what:
            case "answer":
                limit = limit.after_answer(sent_at)
                assert limit.allowed >= before.allowed
            case "429":
                limit = limit.after_rate_limit(sent_at, now)
                assert limit.allowed <= before.allowed
            case _:
                limit = limit.hold(now, seconds)
                assert limit.held_until is not None and limit.held_until >= now + seconds
        assert 1 <= limit.allowed <= ceiling


def test_a_server_is_down_once_it_failed_two_questions_in_a_row_and_until_it_answers() -> None:
    limit = Limit.open(CEILING)
    for _ in range(5):
        limit = limit.after_outage(UUID(int=1))
        assert not limit.is_down  # this question alone may be what breaks it
    limit = limit.after_outage(UUID(int=2))
    assert limit.is_down
    assert not limit.after_answer(0.0).after_outage(UUID(int=3)).is_down
    refused = limit.after_refusal(7.0)
    assert refused.after_answer_elsewhere(6.0).is_down
    assert not refused.after_answer_elsewhere(8.0).after_outage(UUID(int=3)).is_down


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ModelError("connection", "refused", "transient"), True),
        (ModelError("connection", "reset", "transient", latency_ms=3.0), False),
        (ModelError("server_error", "", "transient", status=503), True),
        (ModelError("server_error", "", "transient", status=502), True),
        (ModelError("server_error", "", "transient", status=500), False),
        (ModelError("timeout", "", "transient"), False),
        (ModelError("server_error", "x-should-retry: false", "final", status=503), False),
    ],
)
def test_an_outage_is_what_no_question_can_cause(error: ModelError, expected: bool) -> None:
    assert is_outage(error) == expected
