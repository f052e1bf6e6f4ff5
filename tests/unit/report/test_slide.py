"""One table for a slide: as Markdown, SVG and PNG, whatever its names hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from failproof_es.problems import InvalidInput
from failproof_es.report.data.content import Funnel, GroupRate, Report, Verdict
from failproof_es.report.formats.slide import slide_piece
from failproof_es.report.page.slide import MOST_COLUMNS, MOST_ROWS, Slide, build_slide
from failproof_es.support.statistics import rate
from tests.harmless_html import hostile
from tests.unit.report.test_page import empty_report


def report_of(models: Sequence[str], categories: Sequence[str]) -> Report:
    some = rate([True, True, False])
    groups = [
        group
        for model in models
        for group in (
            GroupRate("overall", "all cases", model, some),
            *(GroupRate("category", name, model, some) for name in categories),
        )
    ]
    funnels = tuple(Funnel(model, 3, 3, 3, 3, None, 3, ()) for model in models)
    return replace(empty_report(), groups=tuple(groups), funnels=funnels)


def names_of(slide: Slide) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return slide.columns, tuple(name for name, _ in slide.rows)


def test_the_shorter_list_stands_in_columns() -> None:
    assert names_of(build_slide(report_of("ab", "xyz"))) == (
        ("a", "b"), ("all cases", "x", "y", "z"),
    )  # fmt: skip
    assert names_of(build_slide(report_of("abcd", "xy"))) == (
        ("all cases", "x", "y"), ("a", "b", "c", "d"),
    )  # fmt: skip


def test_a_single_category_is_not_shown_beside_all_cases() -> None:
    slide = build_slide(report_of("ab", "x"))
    assert names_of(slide) == (("all cases",), ("a", "b"))
    assert slide.title == "nothing: pass rates"
    assert build_slide(report_of("ab", "xy")).title == "nothing: pass rates by category"


def test_severities_stand_before_categories_in_the_order_of_the_report() -> None:
    report = report_of("a", "xy")
    rated = [GroupRate("severity", name, "a", rate([True])) for name in ("S0", "S1")]
    slide = build_slide(replace(report, groups=(*report.groups, *rated)))
    assert names_of(slide) == (("a",), ("all cases", "severity S0", "severity S1", "x", "y"))
    assert slide.title == "nothing: pass rates by severity and category"


def test_severities_and_a_category_are_left_out_by_choice_and_the_slide_says_so() -> None:
    report = report_of("a", "xyz")
    rated = [GroupRate("severity", name, "a", rate([True])) for name in ("S0", "S1")]
    report = replace(report, groups=(*report.groups, *rated))
    slide = build_slide(report, ["severity", "y"])
    assert names_of(slide) == (("a",), ("all cases, also those left out", "x", "z"))
    assert slide.rows[0][1] == (rate([True, True, False]),)
    assert names_of(build_slide(report, ["severity"]))[1][0] == "all cases"
    assert any("cases of one family, count together" in note for note in slide.notes)
    assert slide.title == "nothing: pass rates by category"
    assert slide.notes[-1] == "Left out by choice: severity, y."
    assert names_of(build_slide(report, ["severity S0"]))[1][1] == "severity S1"
    assert build_slide(report, ["x", "y", "z"]).title == "nothing: pass rates by severity"
    with pytest.raises(InvalidInput, match=r"'sevrity'.*did you mean 'severity'"):
        build_slide(report, ["sevrity"])
    with pytest.raises(InvalidInput, match="nothing is left"):
        build_slide(report, ["severity", "category", "all cases"])


def test_a_slide_has_bounds_and_says_what_it_leaves_out() -> None:
    models = [f"m{number}" for number in range(MOST_COLUMNS + 1)]
    categories = [f"c{number}" for number in range(MOST_ROWS + 1)]
    slide = build_slide(report_of(models, categories))
    assert (len(slide.columns), len(slide.rows)) == (MOST_COLUMNS, MOST_ROWS)
    assert slide.notes[-1] == "2 rows left out; 1 column left out."


def test_a_slide_begins_with_the_verdict_and_its_remarks_and_no_note_is_cut() -> None:
    remark = "Run 2 chose its cases by their scores (failed:1), so its rates are no measurement."
    said = Verdict("doubt", "a passed 2 of 3, b 1 of 3: which is better cannot be told.", (remark,))
    slide = build_slide(replace(report_of("ab", "xy"), verdict=said))
    assert slide.notes[:2] == (said.sentence, remark)
    tree = ElementTree.fromstring(slide_piece(slide, "svg"))
    assert " ".join(slide.notes) in " ".join(element.text or "" for element in tree.iter())


def test_what_was_not_scored_has_no_rate() -> None:
    report = report_of("ab", "xy")
    overall, *rest = report.groups[:-1]
    slide = build_slide(replace(report, groups=(replace(overall, unscored=2), *rest)))
    assert slide.notes[-2:] == (
        "2 evaluations without a score: in no rate.", "–: nothing was scored.",
    )  # fmt: skip
    assert slide.rows[2][1] == (rate([True, True, False]), None)
    shown = slide_piece(slide, "md").decode()
    assert "| y | 66.7 %, 2 of 3 (11.8 % to 98.3 %) | – |" in shown


def test_a_run_of_nothing_has_a_slide() -> None:
    assert slide_piece(build_slide(empty_report()), "svg").startswith(b"<svg")


@pytest.mark.parametrize("name", ["script", "attribute", "cdata", "bidi", "surrogate", "nul"])
def test_hostile_names_are_text_in_every_form(name: str) -> None:
    text = hostile()[name]
    slide = replace(build_slide(report_of([text, "b"], ["x", text])), title=text)
    tree = ElementTree.fromstring(slide_piece(slide, "svg"))
    assert {element.tag.rpartition("}")[2] for element in tree.iter()} == {"svg", "rect", "text"}
    rows = [line for line in slide_piece(slide, "md").decode().splitlines() if line[:2] == "| "]
    assert len({row.replace(r"\|", "").count("|") for row in rows}) == 1
    assert slide_piece(slide, "png").startswith(b"\x89PNG\r\n")
