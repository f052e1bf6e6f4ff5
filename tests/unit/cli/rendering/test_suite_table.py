"""The table of suites has the columns that mean something to the run's dialect."""

from __future__ import annotations

import pytest

from failproof_es.cli.rendering.suite_table import passed_of, percent, print_suites
from tests.unit.cli.summaries import abandoned_one, scored_one, summed

SUITES = ("small", "large")


def printed(capsys: pytest.CaptureFixture[str], *classes: str) -> list[list[str]]:
    outcomes = (
        scored_one(case, 1, suite=SUITES[case], class_=name) for case, name in enumerate(classes)
    )
    print_suites(summed(*outcomes))
    return [line.split() for line in capsys.readouterr().out.splitlines() if line.strip()]


def test_the_usual_classes_have_their_columns_before_anything_happened(
    capsys: pytest.CaptureFixture[str],
) -> None:
    heading = printed(capsys)[0]
    assert heading == [
        "suite", "cases", "pass", "fail", "refusal", "empty", "truncated", "error", "abandoned",
        "passed", "accuracy",
    ]  # fmt: skip
    assert printed(capsys, "pass", "fail")[0] == heading


def test_a_dialect_with_its_own_classes_shows_no_passes_and_failures_that_it_does_not_count(
    capsys: pytest.CaptureFixture[str],
) -> None:
    heading, _, *rows = printed(capsys, "borderline", "refusal")
    assert heading == [
        "suite", "cases", "refusal", "error", "borderline", "abandoned", "passed", "accuracy",
    ]  # fmt: skip
    counts = {row[0]: row[2:5] for row in rows[:3]}
    assert counts["small"] == ["0", "0", "1"]
    assert counts["large"] == ["1", "0", "0"]
    assert counts["total"] == ["1", "0", "1"]


def test_of_several_models_each_has_a_total_and_none_is_of_all(
    capsys: pytest.CaptureFixture[str],
) -> None:
    outcomes = (
        scored_one(case, accuracy, model, suite=SUITES[case])
        for model, accuracy in (("good", 1), ("bad", 0))
        for case in (0, 1)
    )
    print_suites(summed(*outcomes, models=("good", "bad")))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    totals = [(line[0], line[-2:]) for line in lines if line[1:2] == ["total"]]
    assert totals == [("bad", ["0/2", "0.0%"]), ("good", ["2/2", "100.0%"])]
    means = [(line[0], line[-1]) for line in lines if line[1:4] == ["mean", "of", "suites"]]
    assert means == [("bad", "0.0%"), ("good", "100.0%")]


def test_what_was_abandoned_has_a_column_and_is_neither_passed_nor_failed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_suites(summed(scored_one(0, 1), scored_one(1, 0), abandoned_one(2, class_="truncated")))
    heading, _, _, line, means = filter(str.strip, capsys.readouterr().out.splitlines())
    assert heading.rstrip().endswith("accuracy   if unscored failed or passed")
    assert line.split()[-6:] == ["1", "1/2", "50.0%", "33.3%", "to", "66.7%"]
    assert means.split()[-4:] == ["50.0%", "33.3%", "to", "66.7%"]
    assert passed_of(0, 0) == "-", "of a dialect without a pass mark"


def test_what_awaits_people_is_not_called_abandoned(capsys: pytest.CaptureFixture[str]) -> None:
    left = abandoned_one(2, class_="answered", unscored_as="awaiting_people")
    print_suites(summed(scored_one(0, 1), left))
    out = capsys.readouterr().out
    (total,) = (line for line in out.splitlines() if line.split()[:1] == ["total"])
    assert "awaiting review" in out
    assert total.split()[-7:] == ["0", "1", "1/1", "100.0%", "50.0%", "to", "100.0%"]


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (None, "-"),
        (0.0, "0.0%"),
        (0.0004, "0.1%"),
        (0.469, "46.9%"),
        (0.9996, "99.9%"),
        (1, "100.0%"),
    ],
)
def test_what_is_not_all_is_never_shown_as_all(share: float | None, shown: str) -> None:
    assert percent(share) == shown
