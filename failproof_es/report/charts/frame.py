"""The parts that all charts share: frame, axes, names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt
from markupsafe import Markup

from failproof_es.report.charts.svg import RAMP, SERIES, colour, drawn
from failproof_es.support.untrusted_text import one_line, shortened, shortened_inside

WIDTH = 420
ROW = 24
NAME_LENGTH = 36
FONT = "Liberation Sans"
"""Has the metrics of Arial and Helvetica, so that readers may see any of the three."""
LETTER = 6.5
"""Approximate width of a letter, in pixels."""
SIDE = 100
"""Width of the names and counts beside the drawing, in pixels."""
SLACK = 20
"""Padding for readers with wider fonts, in pixels."""


def chart_of(values: list[dict[str, Any]]) -> alt.Chart:
    """A chart with its data embedded, so that it loads nothing.

    Each of `values` is a row: field names and their values.
    """
    return alt.Chart(alt.InlineData(values=values))


def finished(
    chart: alt.LayerChart | alt.FacetChart | alt.Chart,
    label: str,
    *,
    height: int,
    width: int = WIDTH,
) -> Markup:
    """Draw the chart in the report's frame, as inline SVG.

    `label` describes it in words, for screen readers. `height` and `width` are those of the drawing
    without axes and margins, in pixels.
    """
    muted, line, ink = colour("muted"), colour("line"), colour("ink")
    whole = (
        chart.properties(width=width, height=height, padding=SLACK)
        .configure(background="transparent", font=FONT)
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=muted,
            titleColor=muted,
            gridColor=line,
            domainColor=line,
            tickColor=line,
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight="normal",
            labelLimit=0,
            labelFlush=False,
        )
        .configure_axisY(labelColor=ink)
        .configure_legend(
            labelColor=ink,
            labelFontSize=12,
            labelLimit=0,
            symbolSize=140,
            columnPadding=SLACK,
            symbolStrokeColor=ink,
            orient="top",
            title=None,
        )
    )
    return drawn(whole, label)


def name_axis(labels: list[str]) -> alt.Y:
    """Vertical axis with a row for each label, in this order.

    The field `name` of the data says which row a mark is in.
    """
    return alt.Y(
        "name:N",
        title=None,
        scale=alt.Scale(domain=labels),
        axis=alt.Axis(domain=False, ticks=False, labelPadding=8),
    )


def side_text(base: alt.Chart, field: str) -> alt.Chart:
    """Text layer to the right of the drawing: the content of the field `field`, beside each row."""
    texts = base.mark_text(align="left", fontSize=12, color=colour("muted"))
    placed: alt.Chart = texts.encode(x=alt.value(WIDTH + 10), text=field)
    return placed


def hues(series: dict[str, str]) -> alt.Scale:
    """Colour scale of the series; colours repeat after `SERIES` of them.

    `series` maps the names of the series to their displayed labels.
    """
    return roles(values_of(series), "series", SERIES)


def roles(values: list[str], role: str, distinct: int = RAMP) -> alt.Scale:
    """Colour scale of the values, in order: the colours of `{role}-0`, `{role}-1` and so on.

    Colours repeat after `distinct` of them.
    """
    colours = [colour(f"{role}-{index % distinct}") for index in range(len(values))]
    return alt.Scale(domain=values, range=colours)


def cycled(series: dict[str, str], kinds: Sequence[Any]) -> alt.Scale:
    """Scale that gives each series one of `kinds` (shapes or dashes), which repeat after the last.

    `series` maps the names of the series to their displayed labels.
    """
    cycle = [kinds[index % len(kinds)] for index in range(len(series))]
    return alt.Scale(domain=values_of(series), range=cycle)


def legend_of(series: dict[str, str]) -> alt.Legend | None:
    """A legend with as many columns (1 to 3) as fit above the drawing; `None` with a single series.

    `series` maps the names of the series to their displayed labels.
    """
    if len(series) < 2:
        return None
    wide = LETTER * max(map(len, values_of(series))) + 2 * SLACK
    return alt.Legend(columns=min(max(int((WIDTH + SIDE) / wide), 1), 3))


def values_of(names: dict[str, str]) -> list[str]:
    """The displayed labels (values of `names`), in order."""
    return list(names.values())


def names_of(names: Iterable[str]) -> dict[str, str]:
    """The displayed label of each distinct name, by the name, in order of first appearance."""
    distinct = list(dict.fromkeys(names))
    return dict(zip(distinct, labels_of(distinct), strict=True))


def labels_of(names: Sequence[str], length: int = NAME_LENGTH) -> list[str]:
    """A label for each name, on one line, shortened to about `length` characters.

    The labels of different names, and of a repeated name, all differ. Names with the same
    beginning, as of variants of one model, are shortened in the middle.
    """
    lines = [one_line(name) for name in names]
    begins = Counter(shortened(line, length) for line in dict.fromkeys(lines))
    labels: dict[str, None] = {}
    for line in lines:
        text = shortened(line, length)
        text = candidate = text if begins[text] < 2 else shortened_inside(line, length)
        number = 2
        while candidate in labels:
            candidate = f"{text} ({number})"
            number += 1
        labels[candidate] = None
    return list(labels)


def format_label(text: str) -> str:
    """Text beside a mark: one line, at most `NAME_LENGTH` characters."""
    return shortened(one_line(text), NAME_LENGTH)
