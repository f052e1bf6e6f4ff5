"""The table of suites: its counts add up, and it has the columns that mean something."""

from __future__ import annotations

import pytest

from failproof_es.cli.rendering.suite_table import PARTS, print_suites
from failproof_es.reading.summary_rows import suite_rows, total_row
from tests.unit.cli.summaries import Counted, abandoned_one, scored_one, summed

SUITES = ("small", "large")


def printed(capsys: pytest.CaptureFixture[str], *counted: Counted) -> list[list[str]]:
    print_suites(summed(*counted))
    return [line.split() for line in capsys.readouterr().out.splitlines() if line.strip()]


ONE_OF_EACH = (
    scored_one(0, 1.0),
    scored_one(1, 0.0, class_="refusal"),
    scored_one(2, 0.5, passed=None, class_="answered"),
    abandoned_one(3, class_="error", unscored_as="no_answer"),
    abandoned_one(4, class_="truncated", unscored_as="cut_off"),
    abandoned_one(5, class_="answered", unscored_as="awaiting_people"),
    abandoned_one(6, class_="answered", unscored_as="no_verdict"),
)


def test_the_counts_of_a_row_are_parts_of_its_evaluations(
    capsys: pytest.CaptureFixture[str],
) -> None:
    heading, _, row, total, _, classes = printed(capsys, *ONE_OF_EACH)
    assert " ".join(heading).startswith(
        "suite cases passed failed no pass mark errors unscored left to people accuracy"
    )
    parts = ["7", *"111121"]  # the judge failed, so one more is unscored, and no error
    assert row[:8] == ["small", *parts] and total[:8] == ["total", *parts]
    assert " ".join(classes) == ("classes: answered 3, error 1, match 1, refusal 1, truncated 1")
    for counts in (total_row(summed(*ONE_OF_EACH)), *suite_rows(summed(*ONE_OF_EACH))):
        assert sum(counts[part] for part in PARTS) == counts["evaluations"] == 7


def test_parts_that_do_not_occur_have_no_column_but_passes_failures_and_errors(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert printed(capsys)[0] == ["suite", "cases", "passed", "failed", "errors", "accuracy"]
    heading = printed(capsys, scored_one(0, 1.0), ONE_OF_EACH[4])[0]
    assert heading[:6] == ["suite", "cases", "passed", "failed", "errors", "unscored"]


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
    totals = [(line[0], line[2:]) for line in lines if line[1:2] == ["total"]]
    assert totals == [("bad", [*"2020", "0.0", "%"]), ("good", [*"2200", "100.0", "%"])]
    means = [(line[0], line[-2:]) for line in lines if line[1:4] == ["mean", "of", "suites"]]
    assert means == [("bad", ["0.0", "%"]), ("good", ["100.0", "%"])]


def test_a_rate_has_its_bounds_where_a_score_is_missing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    counted = (scored_one(0, 1), scored_one(1, 0), abandoned_one(2, class_="truncated"))
    heading, _, _, total, means, _ = printed(capsys, *counted)
    assert " ".join(heading).endswith("accuracy if unscored failed or passed")
    assert total[-7:] == means[-7:] == ["50.0", "%", "33.3", "%", "to", "66.7", "%"]
