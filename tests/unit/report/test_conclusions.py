"""What a report says first: the worst, of which run, and nothing reassuring beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from failproof_es.core.pairing import Question
from failproof_es.core.selection import ChosenByResult, why_incomparable
from failproof_es.engine.related_runs.attempts import Attempts
from failproof_es.events import ModelSnapshot
from failproof_es.reading.people_figures import PeopleFigure
from failproof_es.report.data.comparison import chosen_unlike, comparisons, pairings
from failproof_es.report.data.conclusions import limitations, verdict
from failproof_es.report.data.content import Cost, GateRow, Provenance, Verdict
from failproof_es.report.data.observations import Observation
from tests.every import every
from tests.unit.report.documents import DAMAGED, SOUND
from tests.unit.report.observed import observed
from tests.unit.report.test_page import asked, empty_report, other

JUDGES = (ModelSnapshot(key="j", provider="mock", model="j"),)
FORTY = [observed(f"c{n}", n > 0) for n in range(40)]
MET = GateRow(1, "min_accuracy", 0.9, 0.975, True, of=40)
CHOSEN = ChosenByResult("run 2 chose its cases by their scores (failed:1)", "failed:1")
MISSED = GateRow(1, "no_failures_at", ["S0", "S1"], 3, False, of=31)


def run(number: int = 1, **more: Any) -> Provenance:
    return asked("r", run_number=number, **{"validation": SOUND, **more})


def of(
    runs: Sequence[Provenance],
    gates: Sequence[GateRow] = (),
    observations: Sequence[Observation] = FORTY,
) -> Verdict:
    return verdict(runs, gates, {"m": observations})


def test_a_doubt_sets_the_tone_before_a_sentence_that_is_plain() -> None:
    decided = PeopleFigure("m", "overall", "", 3, 1, 0, 0, 0, 0.75, None, None, 4)
    observations = [observed(f"c{number}", None if number % 2 else True) for number in range(40)]
    found = of([run(by_people=(decided,))], observations=observations)
    assert found.tone == "doubt"
    assert found.sentence.startswith("m passed 20 of 20")
    assert [remark.split(",")[0] for remark in found.remarks] == [
        "Left to people",
        "20 of 40 evaluations (50.0 %) have no score; 50.0 % to 100.0 % if everything unscored had "
        "failed or passed.",
    ]  # fmt: skip


def test_without_gates_the_rate_is_said_with_its_counts_and_interval() -> None:
    found = of([run()])
    assert found.tone == "plain"
    assert found.sentence == ("m passed 39 of 40 (97.5 %, 95 % interval 87.1 % to 99.9 %).")
    assert found.remarks == (), "what the sentence says is not said again"


def test_of_two_runs_that_results_chose_apart_nobody_says_which_is_better() -> None:
    series = {
        f"m (run {number})": [
            replace(observed(f"c{n}", passed), run_number=number) for n in range(40)
        ]
        for number, passed in ((1, False), (2, True))
    }
    apart = chosen_unlike({1: None, 2: CHOSEN})
    compared = pairings(series, apart)
    assert [of.incomparable for of in compared] == [CHOSEN.reason]
    assert comparisons(series, apart) == ()
    asked_again = run(2, chosen_by_result=CHOSEN.reason)
    found = verdict([run(1), asked_again], [], series, compared, ())
    assert found.sentence.endswith("m (run 1) 0 of 40: which is better cannot be told.")
    assert (found.tone, found.remarks) == ("doubt", (f"R{CHOSEN.reason[1:]}.",))
    assert comparisons(series, chosen_unlike({1: CHOSEN, 2: CHOSEN})), "chosen alike"


@every(
    ("one", "other", "comparable"),
    [
        (None, None, True),
        (CHOSEN, CHOSEN, True),
        (CHOSEN, None, False),
        (None, CHOSEN, False),
        (CHOSEN, ChosenByResult("chosen", "failed:2"), False),
        (ChosenByResult("again", None), ChosenByResult("again", None), False),
    ],
)
def test_runs_are_comparable_if_the_same_results_chose_the_cases_of_both(
    one: ChosenByResult | None, other: ChosenByResult | None, comparable: bool
) -> None:
    assert (why_incomparable(one, other) is None) is comparable


@every(
    ("first", "second", "sentence"),
    [
        (40, 4, "a passed 40 of 40, b 4 of 40: 90.0 points better (95 % interval 73.2 to 98.2)."),
        (4, 40, "b passed 40 of 40, a 4 of 40: 90.0 points better (95 % interval 73.2 to 98.2)."),
        (9, 8, "a passed 9 of 40, b 8 of 40: 2.5 points better, which may be chance (95 % interval "
         "−5.7 to 10.4)."),
        (9, 9, "a passed 9 of 40, b 9 of 40: no difference (95 % interval −6.6 to 6.6 points)."),
    ],
)  # fmt: skip
def test_two_are_compared_in_the_first_sentence_the_better_one_first(
    first: int, second: int, sentence: str
) -> None:
    series = {
        name: [observed(f"c{n}", n < passing, series=name) for n in range(40)]
        for name, passing in (("a", first), ("b", second))
    }
    found = verdict([run()], [], series, pairings(series), comparisons(series))
    assert (found.sentence, found.remarks) == (sentence, ())


@pytest.mark.long
def test_two_runs_of_the_same_models_are_compared_model_by_model() -> None:
    series = {
        f"{model} (run {run_number})": [
            observed(
                f"c{n}", n < passing, series=f"{model} (run {run_number})", model_key=model,
                run_number=run_number,
            )
            for n in range(40)
        ]
        for run_number, model, passing in ((1, "a", 30), (1, "b", 10), (2, "a", 10), (2, "b", 12))
    }  # fmt: skip
    found = verdict([run(1), run(2)], [], series, pairings(series), comparisons(series))
    assert found.sentence.startswith(
        "a (run 1) passed 30 of 40, a (run 2) 10 of 40: 50.0 points better (95 % interval "
    )
    assert " b (run 2) passed 12 of 40, b (run 1) 10 of 40: 5.0 points better, which may be" in (
        found.sentence
    )


def test_an_interval_that_says_otherwise_than_its_adjusted_p_has_that_p_beside_it() -> None:
    series = {
        name: [observed(f"c{n}", n < passing, series=name, model_key=name) for n in range(40)]
        for name, passing in (("a", 40), ("b", 34), ("c", 34), ("d", 34), ("e", 34))
    }
    found = verdict([run()], [], series, pairings(series), comparisons(series))
    assert "15.0 points better, which may be chance (95 % interval 1.8 to" in found.sentence
    assert found.sentence.endswith(", adjusted p 0.078).")


def test_of_many_the_five_best_are_named_and_the_first_two_compared() -> None:
    series = {
        f"m{passing}": [observed(f"c{n}", n < 6 * passing, series=f"m{passing}") for n in range(40)]
        for passing in (1, 3, 2, 6, 5, 4)
    }
    found = verdict([run()], [], series, pairings(series), comparisons(series))
    assert found.sentence.startswith(
        "m6 passed 36 of 40, m5 30 of 40, m4 24 of 40, m3 18 of 40, m2 12 of 40, and 1 more: "
        "m6 against m5, 15.0 points better (95 % interval "
    )


def test_two_that_share_no_case_are_said_to_differ() -> None:
    series = {"a": [observed("c1", series="a")], "b": [observed("c2", series="b")]}
    found = verdict([run()], [], series, pairings(series), comparisons(series))
    assert found.sentence == "a passed 1 of 1, b 1 of 1."
    assert found.remarks[0].startswith("a and b were not asked the same. Compared: 0 scored pairs")


def test_cases_that_no_answer_decides_are_counted_beside_the_rate() -> None:
    sure = [
        observed(f"any{n}", fixed_outcome="any_passes", repetition=r)
        for n in (1, 2)
        for r in (1, 2)
    ]
    found = of(
        [run()], observations=[*FORTY, *sure, observed("no", False, fixed_outcome="none_passes")]
    )
    assert found.tone == "doubt"
    assert found.remarks == (
        "2 of 43 cases expect nothing: any answer passes.",
        "1 of 43 cases can never be met: no answer passes.",
    )
    assert found.sentence.startswith("m passed 43 of 45")


def test_each_version_of_a_case_counts_by_its_own_outcome_and_the_same_version_once() -> None:
    old, new = (Question(digest, digest, "s", "any", 1) for digest in ("old", "new"))
    series = {
        "m, run 1": [
            observed("any", fixed_outcome="any_passes", question=old),
            observed("other", run_number=1),
        ],
        "m, run 2": [observed("any", question=new), observed("other", run_number=2)],
    }
    expected = "1 of 3 cases expects nothing: any answer passes."
    for names in (series, reversed(series)):
        remarks = verdict([run(1), run(2)], [], {name: series[name] for name in names}).remarks
        assert remarks == (expected,)


def test_gates_that_are_met_make_it_good() -> None:
    assert of([run()], [MET]).tone == "good"
    assert of([run()], [MET]).sentence.endswith(" to 99.9 %). The gate is met.")
    assert of([run()], [MET, MET]).sentence.endswith(" to 99.9 %). All 2 gates are met.")


def test_a_gate_on_no_result_alone_is_not_good_and_says_so() -> None:
    found = of([run()], [replace(MET, name="max_unscored_rate")])
    assert found.tone == "plain"
    assert found.sentence.endswith("The gate is met. No gate is set on pass rates or severities.")
    by_people = run(configuration={"gates": {"by": "people"}})
    waiting = of([by_people], [replace(MET, name="max_unscored_rate")])
    assert (waiting.tone, waiting.sentence.endswith("The gate is met.")) == ("plain", True)
    assert of([by_people], [MET]).tone == "good"


@every(
    ("worst", "gate", "tone"),
    [
        ("S0", MET, "doubt"),
        ("S1", MET, "good"),
        ("S0", replace(MET, name="no_failures_at"), "good"),
    ],
)
def test_the_most_severe_failures_are_counted(worst: str, gate: GateRow, tone: str) -> None:
    failed = [
        observed(f"f-{n}", False, severity=severity)
        for n, severity in enumerate((worst, worst, "S2", None))
    ]
    found = verdict([run()], [gate], {"m": [observed(), *failed]})
    assert (f"2 of 4 failures are of severity {worst}." in found.sentence, found.tone) == (
        True,
        tone,
    )


def test_failures_of_one_severity_are_counted_together_whatever_their_words() -> None:
    failed = [observed(word, False, severity=word) for word in ("S0", "critical", "critical", "S1")]
    found = verdict([run()], [MET], {"m": failed})
    assert "3 of 4 failures are of severity S0 or critical." in found.sentence


def test_a_gate_that_is_missed_is_told_with_its_limit_and_what_was_measured() -> None:
    found = of([run()], [MET, MISSED])
    assert found.tone == "bad"
    missed, _, result = found.sentence.partition(". ")
    assert missed == "1 of 2 gates is not met: no_failures_at (limit S0, S1, measured 3)"
    assert result.startswith("m passed 39 of 40 (97.5 %")


def test_of_several_runs_the_one_that_missed_a_gate_is_named() -> None:
    missed = [replace(MISSED, run_number=8), replace(MET, run_number=8, met=False)]
    found = of([run(7), run(8)], [replace(MET, run_number=7), *missed])
    assert found.sentence.startswith("2 of 3 gates are not met (run 8). m passed")
    assert found.remarks == (
        "Not met: no_failures_at (limit S0, S1, measured 3), "
        "min_accuracy (limit 0.9, measured 0.975).",
    )


def test_of_many_missed_gates_each_run_is_named_and_the_sentence_stays_short() -> None:
    missed = [replace(MISSED, run_number=number) for number in (1, 1, 1, 3, 4)]
    found = of([run(n) for n in (1, 2, 3, 4)], missed)
    assert found.sentence.startswith("5 of 5 gates are not met (runs 1, 3, 4). m passed")
    (remark,) = found.remarks
    assert remark.startswith("Not met: run 1 no_failures_at (") and remark.endswith(", 2 more.")
    assert remark.count("no_failures_at") == 3


def test_a_run_without_gates_never_counts_as_passed_beside_one_that_met_its_own() -> None:
    found = of([run(1), run(2)], [MET])
    assert found.tone == "plain"
    assert found.sentence.endswith("The gate is met. None is set for run 2.")


def test_a_broken_record_is_all_that_is_said() -> None:
    found = of([run(1), run(2, validation=DAMAGED)], [MET, MISSED])
    assert found.tone == "bad"
    assert found.sentence == "The record of run 2 is damaged: do not trust this report."


@every("status", ["running", "paused"])
def test_a_run_that_has_not_ended_is_said_and_hides_no_gate_of_another(status: str) -> None:
    going = run(2, status=status, validation=None)
    assert of([run(1), going], [MET]).tone == "doubt"
    unfinished = f"Run 2 has not ended ({status}): the numbers cover 40 of 40 evaluations."
    assert of([run(1), going], [MET]).remarks == (unfinished,)
    assert of([run(1), going], [MET]).sentence.endswith("The gate is met.")
    worse = of([run(1), going], [MISSED])
    assert worse.tone == "bad"
    assert worse.sentence.startswith("The gate is not met (run 1): no_failures_at")
    assert worse.remarks == (unfinished,)


def test_a_run_that_failed_passed_nothing() -> None:
    found = of([run(status="failed", reason="the key is wrong.")])
    assert found.tone == "bad"
    assert found.sentence.startswith("Run 1 failed: the key is wrong. m passed")


def test_a_run_that_failed_without_a_score_says_so_once() -> None:
    lost = [observed(f"c{n}", None) for n in range(40)]
    found = of([run(status="failed", reason="nothing was scored")], observations=lost)
    assert (found.sentence, found.remarks) == ("Run 1 failed: nothing was scored.", ())


@every(("lost", "tone"), [(2, "good"), (3, "doubt")])
def test_more_than_one_in_twenty_without_a_score_is_said_though_gates_are_met(
    lost: int, tone: str
) -> None:
    observations = [observed(f"c{n}", None if n < lost else True) for n in range(40)]
    found = of([run()], [MET], observations)
    assert found.tone == tone
    assert ("3 of 40 evaluations (7.5 %) have no score" in "".join(found.remarks)) == (lost == 3)
    assert found.sentence.endswith("The gate is met.")


def test_what_is_still_under_way_is_not_counted_as_without_a_score() -> None:
    going = [*FORTY, *(observed(f"d{n}", None, unscored_reason="unfinished") for n in range(90))]
    assert "no score" not in " ".join(of([run(status="running")], [], going).remarks)


def test_a_run_of_nothing_is_no_division_by_zero() -> None:
    assert of([run()], [], []) == Verdict("doubt", "Nothing was scored.", ())


def test_limitations_are_those_of_these_runs() -> None:
    few = [
        observed("a"),
        observed("b", False, class_="truncated"),
        observed("c", None),
    ]
    report = replace(empty_report(), asked=(run(repetitions=1, judges=()),))
    said = limitations(report, {"m": few}).limitations
    assert said[0] == "The rates rest on few independent cases: m (2)."
    assert said[1].startswith("The interval of the pass rate is wide, and")
    assert said[1].endswith(": m (94.9 points).")
    assert said[2] == "Not scored, and in no rate: m (1 of 3 evaluations)."
    assert said[3] == "Cut off at max_tokens: m (1 of 3 evaluations)."
    assert said[4].startswith("Every case was asked once")
    assert "judged" not in " ".join(said)

    costs = (Cost(1, "m", 3, 10, 10, 0.5), Cost(1, "judge:j", 3, None, None, None))
    said = limitations(replace(report, costs=costs), {"m": few}).limitations
    assert said[5] == "The cost of judge j is unknown: no price, or no count of tokens."

    many = [observed(f"c{n}", n % 2 == 0) for n in range(2_000)]
    repeated = replace(empty_report(), asked=(run(repetitions=2, judges=JUDGES),))
    assert limitations(repeated, {"m": many}).limitations == (
        "Models judged, and no person has reviewed what they said.",
        "The cases are a chosen sample: the intervals do not generalise to other cases.",
        "This report was made from the log as it is, and does not compare it with what was signed. "
        "To do so: `failproof-es verify 1`.",
    )
    for reviews, unseen in (({"awaiting": 2}, True), ({"awaiting": 2, "pass": 1}, False)):
        left = replace(repeated, asked=(run(repetitions=2, judges=JUDGES, reviews=reviews),))
        said = limitations(left, {"m": many}).limitations
        assert ("Models judged, and no person has reviewed what they said." in said) == unseen


def test_a_limitation_of_several_series_is_one_sentence_that_names_them() -> None:
    series = {"a": [observed("x"), observed("y", None)], "b": [observed("x", None)] * 2}
    said = limitations(empty_report(), series).limitations
    assert "Not scored, and in no rate: a (1 of 2 evaluations), b (2 of 2 evaluations)." in said


def test_a_run_that_asked_every_case_once_is_named_beside_one_with_repetitions() -> None:
    runs = (run(1, repetitions=1), run(2, repetitions=3), run(4, repetitions=1))
    said = limitations(replace(empty_report(), asked=runs), {}).limitations
    assert said[0] == (
        "Every case was asked once in runs 1, 4, so the stability of those answers is unknown."
    )


def test_what_was_asked_before_is_a_limitation_of_what_is_shown() -> None:
    tried = Attempts("e" * 64, 3, 4, (), (other("r", 2, None), other("r", 9, None)))
    report = replace(empty_report(), asked=(run(7, repetitions=2, attempts=tried),))
    said = limitations(report, {}).limitations
    assert any(
        each.startswith("Run 7 has 2 earlier attempts and 1 earlier overlapping run.")
        for each in said
    )
