"""The evaluations that people are to label are drawn at random, by verdict and by model."""

from __future__ import annotations

from collections import Counter
from uuid import UUID

from hypothesis import example, given
from hypothesis import strategies as st

from failproof_es.engine.calibration.judged_run import JudgedEvaluation
from failproof_es.engine.calibration.label_sample import draw, share_labels

MODELS = ("one", "two", "three")


def judged(passed: int, failed: int) -> list[JudgedEvaluation]:
    return [
        JudgedEvaluation(
            UUID(int=number), MODELS[number % len(MODELS)], ("suite", str(number)),
            number < passed, {},
        )
        for number in range(passed + failed)
    ]  # fmt: skip


@example(passed=1, failed=300, labels=2)
@example(passed=300, failed=1, labels=2)
@given(st.integers(0, 300), st.integers(0, 300), st.integers(1, 700))
def test_no_label_is_lost_and_no_verdict_left_out(passed: int, failed: int, labels: int) -> None:
    shares = share_labels({True: passed, False: failed}, labels)
    assert sum(shares.values()) == min(labels, passed + failed)
    assert 0 <= shares[True] <= passed and 0 <= shares[False] <= failed
    if labels > 1:
        assert bool(shares[True]) == bool(passed) and bool(shares[False]) == bool(failed)


@given(st.integers(0, 60), st.integers(0, 60), st.integers(1, 130), st.integers(0, 5))
def test_every_model_has_its_part_and_nothing_is_drawn_twice(
    passed: int, failed: int, labels: int, seed: int
) -> None:
    evaluations = judged(passed, failed)
    strata, drawn = draw(evaluations, labels, seed)
    assert draw(evaluations, labels, seed) == (strata, drawn)
    assert len(set(drawn)) == len(drawn) == min(labels, passed + failed)
    for stratum in strata:
        own = [one for one in evaluations if one.passed is stratum.passed]
        chosen = [one for one in own if one.evaluation_id in drawn]
        assert (stratum.evaluations, stratum.drawn) == (len(own), len(chosen))
        sizes, counts = (Counter(one.model_key for one in some) for some in (own, chosen))
        for model, size in sizes.items():
            assert abs(counts[model] - size * len(chosen) / len(own)) < 1 + 1e-9


def test_every_evaluation_of_a_verdict_is_drawn_equally_often() -> None:
    evaluations = judged(40, 10)
    counts = Counter(
        evaluation_id for seed in range(600) for evaluation_id in draw(evaluations, 15, seed)[1]
    )
    shares = share_labels({True: 40, False: 10}, 15)
    for evaluation in evaluations:
        size = 40 if evaluation.passed else 10
        expected = 600 * shares[evaluation.passed] / size
        assert abs(counts[evaluation.evaluation_id] - expected) < 5 * expected**0.5
    first = [draw(evaluations, 15, seed)[1][0].int < 40 for seed in range(50)]
    assert len(set(first)) == 2, "who labels does not know the verdict by the place"
