"""Pictures of untrusted names and plain numbers: harmless, the same each time, not colour alone."""

from __future__ import annotations

from functools import cache
from typing import Any
from xml.etree import ElementTree

import pytest
from markupsafe import Markup

from failproof_es.report.charts.frame import NAME_LENGTH, labels_of, legend_of, names_of
from failproof_es.report.charts.plots import (
    Bar,
    Curve,
    PlottedCell,
    PlottedDifference,
    PlottedRate,
    bars,
    difference_forest,
    heat_map,
    interval_dots,
    latency_curves,
)
from failproof_es.report.charts.svg import drawn

HOSTILE = "<script>alert(1)</script>\"'&\u202e\u200b\x1b[2J\x00\ud800 onload=x"
ELEMENTS = {"svg", "g", "path", "line", "rect", "text", "tspan"}
ATTRIBUTES = {
    *("width", "height", "viewBox", "transform", "d", "x", "y", "x2", "y2", "fill", "stroke"),
    *("stroke-width", "stroke-dasharray", "opacity", "font-size", "font-weight", "text-anchor"),
    *("role", "aria-label", "aria-roledescription", "aria-hidden", "class"),
}


@cache
def pictures(name: str) -> dict[str, Markup]:
    other = name + " two"
    return {
        "dots": interval_dots(
            [
                PlottedRate(name, name, 0.5, 0.3, 0.7, 10, 20),
                PlottedRate(name, other, 0.9, 0.7, 1.0, 18, 20),
            ],
            label=name,
            axis="passed",
        ),
        "heat": heat_map(
            [PlottedCell(name, name, 3, 9), PlottedCell(name, other, 0, 0)], label=name
        ),
        "curves": latency_curves(
            [Curve(name, ((1.0, 0.5), (900.0, 1.0))), Curve(other, ((0.0, 1.0),))], label=name
        ),
        "bars": bars([Bar(name, 0.02, name), Bar(other, 0.0, "$0")], label=name, axis="US dollars"),
        "forest": difference_forest(
            [PlottedDifference(name, -0.1, -0.2, 0.01, name)], label=name, axis="difference"
        ),
    }


@pytest.fixture(scope="module", params=["dots", "heat", "curves", "bars", "forest"])
def hostile(request: pytest.FixtureRequest) -> Markup:
    return pictures(HOSTILE)[request.param]


def test_a_picture_of_hostile_names_holds_shapes_numbers_and_text_alone(hostile: Markup) -> None:
    for element in ElementTree.fromstring(hostile).iter():
        assert element.tag in ELEMENTS
        assert set(element.attrib) <= ATTRIBUTES
        assert element.get("fill", "none") == element.get("stroke", "none") == "none"


def test_what_hides_in_a_name_is_shown_as_an_escape(hostile: Markup) -> None:
    texts = [element.text or "" for element in ElementTree.fromstring(hostile).iter("text")]
    assert any(text.startswith("<script>alert(1)<") for text in texts)
    assert not {"\u202e", "\u200b", "\x1b", "\x00"} & set(hostile)


@pytest.mark.slow
def test_the_same_numbers_give_the_same_bytes() -> None:
    assert pictures.__wrapped__("one") == pictures("one")


@pytest.mark.long
def test_a_picture_has_a_name_and_every_mark_says_its_numbers() -> None:
    dots = ElementTree.fromstring(pictures("one")["dots"])
    assert dots.get("aria-label") == "one"
    labels = [element.get("aria-label") for element in dots.iter("path")]
    assert "one, one: 10 of 20, interval 30.0 % to 70.0 %" in labels


def test_series_differ_in_shape_and_in_dash_not_in_colour_alone() -> None:
    both = pictures("one")
    marks = ElementTree.fromstring(both["dots"]).iter("path")
    assert len({mark.get("d") for mark in marks if mark.get("aria-label")}) == 2
    curves = ElementTree.fromstring(both["curves"]).iter("path")
    assert len({path.get("stroke-dasharray") for path in curves if path.get("aria-label")}) == 2


def test_a_cell_of_a_heat_map_says_its_count_and_where_nothing_was_asked() -> None:
    texts = [text.text for text in ElementTree.fromstring(pictures("one")["heat"]).iter("text")]
    assert {"3/9", "–"} <= set(texts)


def test_names_that_are_shortened_to_the_same_text_stay_apart() -> None:
    long = "a name that is longer than what fits in front of a row of dots"
    rows = [PlottedRate(long + end, "m", 0.5, 0.4, 0.6, 5, 10) for end in ("one", "two")]
    texts = [
        text.text or ""
        for text in ElementTree.fromstring(interval_dots(rows, label="x", axis="x")).iter("text")
    ]
    assert len({text for text in texts if text.startswith("a name")}) == 2
    assert any("…" in text for text in texts)


def test_variants_that_differ_at_their_end_are_told_apart_by_what_they_say() -> None:
    keys = [f"a-model-of-a-vendor@terse,temperature={heat}" for heat in (0.0, 0.7)]
    texts = labels_of(keys)
    assert [each[-15:] for each in texts] == ["temperature=0.0", "temperature=0.7"]
    assert all("…" in each and len(each) == NAME_LENGTH for each in texts)


def test_a_legend_is_no_wider_than_its_chart() -> None:
    def legend(names: list[str]) -> dict[str, Any] | None:
        return legend_of(names_of(names))

    assert legend(["alone"]) is None
    for length, columns in ((5, 3), (24, 2), (NAME_LENGTH, 1)):
        found = legend([str(n) * length for n in range(6)])
        assert found is not None and found["columns"] == columns, length


def test_rows_of_the_same_name_stand_on_lines_of_their_own() -> None:
    rows = [PlottedDifference("a − b", 0.1, low, 0.2, f"{low}") for low in (0.0, 0.05)]
    drawn = ElementTree.fromstring(difference_forest(rows, label="x", axis="x"))
    places = [text.get("transform") for text in drawn.iter("text") if text.text in ("0.0", "0.05")]
    assert len(set(places)) == 2


def test_latencies_far_apart_are_drawn_on_a_logarithmic_axis_that_says_so() -> None:
    def axis(fast: float) -> str:
        return latency_curves([Curve("m", ((fast, 0.5), (9_000.0, 1.0)))], label="x")

    assert "logarithmic" in axis(3.0)
    assert "logarithmic" not in axis(3_000.0)


def test_a_colour_without_a_role_is_an_error_not_a_picture_that_prints_badly() -> None:
    chart: dict[str, Any] = {
        "data": {"values": [{"a": 1}]},
        "mark": {"type": "point", "color": "red"},
        "encoding": {"x": {"field": "a", "type": "quantitative"}},
    }
    with pytest.raises(ValueError, match="colour that has no role"):
        drawn(chart, "red")
