"""The parts that all charts share: frame, axes, names.

A chart is a specification of Vega-Lite (https://vega.github.io/vega-lite/docs/), version 6.4, as
plain data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import cycle, islice
from typing import Any

from markupsafe import Markup

from failproof_es.report.charts.svg import Spec, colour, drawn
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


def mark(kind: str, encoding: Spec, **properties: Any) -> Spec:
    """A layer of marks of this kind, with its encoding and the properties of the mark."""
    return {"mark": {"type": kind, **properties}, "encoding": encoding}


def field(name: str, **properties: Any) -> Spec:
    """The encoding by a field of names or texts."""
    return {"field": name, "type": "nominal", **properties}


def amount(name: str, **properties: Any) -> Spec:
    """The encoding by a field of numbers."""
    return {"field": name, "type": "quantitative", **properties}


def finished(
    layers: list[Spec],
    values: list[dict[str, Any]],
    label: str,
    *,
    height: int,
    width: int = WIDTH,
) -> Markup:
    """Draw the layers in the report's frame, as inline SVG.

    `values` are the rows of data: field names and their values. They are embedded, so that the
    chart loads nothing. `label` describes it in words, for screen readers. `height` and `width` are
    those of the drawing without axes and margins, in pixels.
    """
    chart = {
        "data": {"values": values},
        "layer": layers,
        "width": width,
        "height": height,
        "padding": SLACK,
        "config": _configuration(),
    }
    return drawn(chart, label)


def _configuration() -> Spec:
    """The look of all charts."""
    muted, line, ink = colour("muted"), colour("line"), colour("ink")
    return {
        "background": "transparent",
        "font": FONT,
        "view": {"stroke": None},
        "axis": {
            "labelColor": muted,
            "titleColor": muted,
            "gridColor": line,
            "domainColor": line,
            "tickColor": line,
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "labelLimit": 0,
            "labelFlush": False,
        },
        "axisY": {"labelColor": ink},
        "legend": {
            "labelColor": ink,
            "labelFontSize": 12,
            "labelLimit": 0,
            "symbolSize": 140,
            "columnPadding": SLACK,
            "symbolStrokeColor": ink,
            "orient": "top",
            "title": None,
        },
    }


def name_axis(labels: Iterable[str]) -> Spec:
    """Vertical axis with a row for each label, in this order.

    The field `name` of the data says which row a mark is in.
    """
    return field(
        "name",
        title=None,
        scale={"domain": list(labels)},
        axis={"domain": False, "ticks": False, "labelPadding": 8},
    )


def side_text(rows: Spec, name: str) -> Spec:
    """Text layer to the right of the drawing: the content of the field `name`, beside each row.

    `rows` is the encoding of the rows.
    """
    encoding = {**rows, "x": {"value": WIDTH + 10}, "text": field(name)}
    return mark("text", encoding, align="left", fontSize=12, color=colour("muted"))


def roles(labels: Iterable[str], role: str, distinct: int) -> Spec:
    """Colour scale of the labels, in order: the colours of `{role}-0`, `{role}-1` and so on.

    Colours repeat after `distinct` of them.
    """
    return cycled(labels, [colour(f"{role}-{index}") for index in range(distinct)])


def cycled(labels: Iterable[str], kinds: Sequence[Any]) -> Spec:
    """Scale that gives each label one of `kinds`, such as shapes, which repeat after the last."""
    domain = list(labels)
    return {
        "domain": domain,
        "range": list(islice(cycle(kinds), len(domain))),
    }


def legend_of(series: dict[str, str]) -> Spec | None:
    """A legend with as many columns (1 to 3) as fit above the drawing; `None` with a single series.

    `series` maps the names of the series to their displayed labels.
    """
    if len(series) < 2:
        return None
    wide = LETTER * max(map(len, series.values())) + 2 * SLACK
    return {"columns": min(max(int((WIDTH + SIDE) / wide), 1), 3)}


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
