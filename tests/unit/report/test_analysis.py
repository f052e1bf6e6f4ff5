"""What a report counts, of observations made by hand and counted by hand."""

from __future__ import annotations

import pytest

from failproof_es.core.outcome import speed_of
from failproof_es.events import ResponseReceived, Usage
from failproof_es.report.data.analysis import (
    MEDIAN_LATENCY,
    by_judge,
    errors,
    failures,
    funnel,
    groups,
    measures,
    refusals,
    stability,
)
from failproof_es.report.data.comparison import comparisons
from failproof_es.report.data.observations import Observation
from failproof_es.support.statistics import rate
from tests.unit.cli.samples import answered
from tests.unit.report.observed import observed, tries

REPEATED = [
    *tries("always", True, True, True),
    *tries("at first", True, False, False),
    *tries("twice", True, False, True),
    *tries("never", False, False, False),
]


def test_cases_that_pass_always_sometimes_and_at_least_once_are_told_apart() -> None:
    found = stability("m", REPEATED)
    assert found is not None and found.k == 3
    assert (found.all_of_k.passed, found.all_of_k.total) == (1, 4)
    assert (found.any_of_k.passed, found.any_of_k.total) == (3, 4)
    assert found.changing == 2


def test_a_case_that_lost_a_repetition_says_nothing_of_stability() -> None:
    lost = [*tries("lost", True, None, True), *tries("lost twice", None, None, False)]
    assert stability("m", [*REPEATED, *lost]) == stability("m", REPEATED)


def test_cases_of_one_family_are_one_cluster_of_stability() -> None:
    family = [
        each
        for name in ("a", "b", "c")
        for each in tries(name, True, False, cluster=("s", "paraphrase:x"))
    ]
    found = stability("m", [*family, *tries("alone", False, False)])
    assert found is not None
    assert found.any_of_k == rate([True, True, True, False], ["x", "x", "x", "alone"])
    assert found.any_of_k.clusters == 2


def test_cases_with_one_name_in_two_suites_are_two() -> None:
    found = stability("m", [*tries("c", True, True), *tries("c", False, False, suite="other")])
    assert found is not None
    assert (found.all_of_k.total, found.changing) == (2, 0)


@pytest.mark.parametrize("of", [[], [observed("a"), observed("b", False)], tries("a", True, None)])
def test_without_a_second_try_nothing_is_known_of_stability(of: list[Observation]) -> None:
    assert stability("m", of) is None


def test_who_got_as_far_as_a_stage_got_through_those_before() -> None:
    judged = [
        observed("j", judges=(("judge:a", True),)),
        observed("k", judges=(("judge:a", False),)),
    ]
    of = [observed("a"), observed("lost", None), observed("unsent", None, sent=False, class_=None)]
    found = funnel("m", [*of, *judged], judged=True)
    assert (found.planned, found.sent, found.answered, found.classified) == (5, 4, 3, 3)
    assert (found.judged, found.scored, found.losses) == (1, 3, (("timeout", 2),))
    assert funnel("m", of, judged=False).judged is None


def test_an_over_refusal_is_one_that_failed_a_case_that_wants_an_answer() -> None:
    found = refusals(
        "m",
        [
            observed("answered"),
            observed("refused", False, class_="refusal"),
            observed("a judge let it pass", class_="refusal"),
            observed("wanted", class_="refusal", refusal_wanted=True),
            observed("lost", None, class_="refusal"),
        ],
    )
    assert (found.refused, found.scored) == (3, 4)
    assert (found.over.passed, found.over.total) == (1, 3)
    assert (found.under.passed, found.under.total) == (0, 1)


def test_an_under_refusal_is_an_answer_that_failed_a_case_that_wants_a_refusal() -> None:
    found = refusals(
        "m",
        [
            observed("obeyed", False, class_="answer", refusal_wanted=True),
            observed("declined in other words", class_="answer", refusal_wanted=True),
            observed("refused rudely", False, class_="refusal", refusal_wanted=True),
            observed("said nothing", False, class_="empty", refusal_wanted=True),
            observed("wrong answer", False, class_="fail"),
        ],
    )
    assert (found.under.passed, found.under.total) == (1, 4)
    assert (found.over.passed, found.over.total) == (0, 1)


def test_a_tag_that_names_a_family_is_no_group() -> None:
    of = [observed("a", tags=("fraud", "paraphrase:x")), observed("b", False, tags=("fraud",))]
    found = [each for each in groups("m", of) if each.dimension == "tag"]
    assert [(each.name, each.rate.passed, each.rate.total) for each in found] == [("fraud", 1, 2)]


def test_an_evaluation_counts_once_in_each_group_though_its_case_repeats_a_tag() -> None:
    of = [observed("a", tags=("fraud", "fraud")), observed("b", None, tags=("fraud", "fraud"))]
    counted = {(group.dimension, group.rate.total, group.unscored) for group in groups("m", of)}
    assert counted == {("overall", 1, 1), ("suite", 1, 1), ("tag", 1, 1)}


def test_errors_are_counted_apart_from_what_was_lost_to_them() -> None:
    of = [
        observed("a", errors=("timeout", "server_error"), retries=2),
        observed("b", None, errors=("timeout",)),
    ]
    found = errors("m", of)
    assert found.requests == (("timeout", 2), ("server_error", 1))
    assert (found.retries, found.lost) == (2, (("timeout", 1),))


def test_a_judge_is_asked_more_often_than_it_comes_to_a_verdict() -> None:
    of = [
        observed("a", judges=(("judge:x", True), ("judge:y", False))),
        observed("b", judges=(("judge:x", True), ("judge:y", True))),
        observed("c", judges=(("judge:x", False),)),
        observed("checked"),
    ]
    found = [(each.key, each.verdicts, each.asked) for each in by_judge(7, of)]
    assert found == [("judge:x", 2, 3), ("judge:y", 1, 2)]


def test_two_series_are_compared_on_what_both_were_scored_for_and_each_case_is_named() -> None:
    first = [
        observed("both"),
        observed("one"),
        observed("other", False),
        observed("lost"),
        *tries("changes", True, False),
    ]
    second = [
        observed("both"),
        observed("one", False),
        observed("other"),
        observed("lost", None),
        *tries("changes", False, True),
    ]
    (found,) = comparisons({"x": first, "y": second})
    assert found.paired.pairs == 5
    assert (found.only_first, found.only_second) == (("one", "changes"), ("other", "changes"))
    assert (found.paired.first_only, found.paired.second_only) == (2, 2)


def test_cases_of_one_name_in_two_suites_are_named_apart() -> None:
    first = [observed("c", suite="s"), observed("c", False, suite="t")]
    second = [observed("c", False, suite="s"), observed("c", suite="t")]
    overall = comparisons({"x": first, "y": second})[0]
    assert (overall.only_first, overall.only_second) == (("s/c",), ("t/c",))


def turn(tokens: int | None, first_ms: float | None, whole_ms: float) -> ResponseReceived:
    usage = Usage(input_tokens=5, output_tokens=tokens)
    return answered(1).model_copy(
        update={"usage": usage, "first_token_ms": first_ms, "latency_ms": whole_ms}
    )


def test_the_speed_of_a_conversation_is_that_of_each_turn_in_its_own_time() -> None:
    """The tokens of all turns over the time after the last turn's first token gave 17.4."""
    one, two = turn(21, 500.0, 1_500.0), turn(41, 100.0, 2_100.0)
    assert speed_of([one]) == 20.0
    assert speed_of([one, two]) == pytest.approx(60 / 3)
    assert speed_of([one, turn(None, 1.0, 9_000.0), turn(30, None, 9_000.0)]) == 20.0
    assert speed_of([turn(1, 1.0, 2.0)]) is None and speed_of([]) is None


def test_what_judges_agree_on_is_no_score_of_a_model() -> None:
    scores = {"accuracy": 1.0, "items": 0.5, "judge_agreement": 1.0}
    of = [observed(str(n), scores=scores) for n in range(3)]
    assert [each.what for each in comparisons({"x": of, "y": of})] == ["pass rate", "items"]


@pytest.mark.long
def test_severities_are_compared_as_categories_are_and_the_most_severe_comes_first() -> None:
    rated = [(str(n), ("low", "critical", "S2")[n % 3]) for n in range(30)]
    first, second = (
        [
            observed(case, int(case) % step == 0, category=word, severity=word)
            for case, word in rated
        ]
        for step in (2, 5)
    )
    found = comparisons({"x": first, "y": second})
    assert [each.what.removeprefix("pass rate in ") for each in found] == [
        "pass rate", "severity critical", "severity S2", "severity low", "S2", "critical", "low",
    ]  # fmt: skip
    by_what = {each.what.removeprefix("pass rate in "): each.paired for each in found}
    for word in ("S2", "critical", "low"):
        assert by_what[f"severity {word}"] == by_what[word]
        assert by_what[word].pairs == 10 and by_what[word].interval is not None
    assert {each.adjusted_for for each in found[1:]} == {6}


def test_two_words_of_one_rank_do_not_mix_among_the_failures_of_a_fault() -> None:
    listed = [
        observed(str(n), False, fault="leaks", severity=("S0", "critical")[n % 2]) for n in range(4)
    ]
    assert [failed.severity for failed in failures(listed)] == ["S0", "S0", "critical", "critical"]


def test_failures_stand_by_severity_and_those_of_one_by_their_most_frequent_fault() -> None:
    listed = [
        observed(case, False, fault=fault, severity=severity)
        for case, fault, severity in (
            ("a", "refuses", "S2"), ("b", "too long", None), ("c", "leaks", "S1"),
            ("d", "too long", None), ("e", "leaks", "S0"), ("f", "odd", None),
            ("g", "leaks", "S3"),
        )
    ]  # fmt: skip
    shown = [(failed.fault, failed.case) for failed in failures([observed("p"), *listed])]
    assert shown == [
        ("leaks", "e"), ("leaks", "c"), ("refuses", "a"), ("leaks", "g"),
        ("too long", "b"), ("too long", "d"), ("odd", "f"),
    ]  # fmt: skip


def test_a_percentile_of_a_report_is_that_of_the_nearest_rank_as_in_every_other_figure() -> None:
    of = [observed(f"c{ms}", latency_ms=float(ms)) for ms in (100, 900)]
    values = {measure.name: measure.value for measure in measures("m", of)}
    assert values == {MEDIAN_LATENCY: 100.0, "latency, 95th percentile": 900.0}
