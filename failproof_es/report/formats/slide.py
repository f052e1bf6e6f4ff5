"""Writes a slide as Markdown, SVG or PNG: one picture with colours of its own, for any program."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from markupsafe import escape

from failproof_es.report.formats.markdown import table_lines, text
from failproof_es.report.page.blocks import Table, TableColumn
from failproof_es.report.page.slide import ALL_CASES, Slide, ramp_step
from failproof_es.report.page.tables import counts, interval_ends
from failproof_es.support.percentages import percent
from failproof_es.support.statistics import Rate
from failproof_es.support.untrusted_text import one_line, shortened_inside

SCALE = 2.0
"""Pixels of the PNG for each pixel of the SVG."""
_INK, _MUTED, _PAPER, _EMPTY = "#1b1f24", "#59626e", "#ffffff", "#f5f7f9"
_RAMP = ("#fbf7f2", "#fbe1c5", "#f5bf8a", "#e58f4c", "#b8521a", "#7f2704")
_LIGHT_FROM = 4
"""Step of the ramp from which on the text in a cell is white."""
_FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
_LONGEST_NAME = 30
_LONGEST_TITLE = 70
_LONGEST_NOTE = 110
_MOST_LINES = 5
_LETTER, _SMALL = 9.0, 6.3
"""Widths of letters of 16 and of 13 pixels, on the wide side."""
_MARGIN, _HEAD, _ROW, _NOTE = 24, 96, 56, 20


def slide_piece(slide: Slide, form: str) -> bytes:
    """The slide as a file of the format `md`, `svg` or `png`."""
    if form == "md":
        return "".join(f"{line}\n" for line in _markdown(slide)).encode()
    svg = _svg(slide)
    if form == "svg":
        return svg.encode()
    import vl_convert  # 20 MB that only a PNG needs

    return bytes(vl_convert.svg_to_png(svg, scale=SCALE))


def _markdown(slide: Slide) -> Iterator[str]:
    columns = (TableColumn(" ", "name"), *(TableColumn(name) for name in slide.columns))
    rows = tuple((name, *map(_cell, rates)) for name, rates in slide.rows)
    yield from table_lines(Table(slide.title, columns, rows))
    yield ""
    yield text(" ".join(slide.notes))


def _cell(rate: Rate | None) -> str:
    if rate is None or rate.value is None:
        return "–"
    return f"{percent(rate.value)}, {_counts(rate)}"


def _counts(rate: Rate | None) -> str:
    """The counts of a rate and its interval; empty without any."""
    if rate is None or rate.interval is None:
        return ""
    return f"{counts(rate)} ({interval_ends(rate.interval)})"


def _svg(slide: Slide) -> str:
    names = [_label(name) for name, _ in slide.rows]
    heads = [_label(name) for name in slide.columns]
    first = int(_LETTER * max(map(len, names), default=0)) + _MARGIN
    widest = max((len(_counts(rate)) for _, rates in slide.rows for rate in rates), default=0)
    widths = [int(max(_LETTER * len(head), _SMALL * widest)) + _MARGIN for head in heads]
    title = shortened_inside(one_line(slide.title), _LONGEST_TITLE)
    notes = [line for note in slide.notes for line in _note_lines(note)]
    texts = (1.5 * _LETTER * len(title), *(_SMALL * len(note) for note in notes))
    missing = max(0, int(max(texts)) - first - sum(widths))
    widths = [width + missing // max(len(widths), 1) for width in widths]
    width = first + sum(widths) + 2 * _MARGIN
    below = _HEAD + _ROW * len(names) + _MARGIN
    height = below + _NOTE * len(notes)
    shapes = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="{_FONT}" role="img" '
        f'aria-label="{escape(title)}">',
        _rectangle(0, 0, width, height, _PAPER),
        _text(_MARGIN, 42, title, size=24, bold=True),
    ]
    left = _MARGIN + first
    for head, column in zip(heads, widths, strict=True):
        shapes.append(_text(left + column / 2, _HEAD - 12, head, middle=True, bold=True))
        left += column
    for at, (name, (_, rates)) in enumerate(zip(names, slide.rows, strict=True)):
        shapes += _row(_HEAD + at * _ROW, name, rates, first, widths)
    shapes += (
        _text(_MARGIN, below + 8 + _NOTE * at, note, size=13, colour=_MUTED)
        for at, note in enumerate(notes)
    )
    shapes.append("</svg>")
    return "\n".join(shapes) + "\n"


def _row(
    top: int, name: str, rates: Sequence[Rate | None], first: int, widths: Sequence[int]
) -> Iterator[str]:
    yield _text(_MARGIN, top + _ROW / 2 + 6, name, bold=name == ALL_CASES)
    left = _MARGIN + first
    for rate, width in zip(rates, widths, strict=True):
        centre = left + width / 2
        if rate is None or rate.value is None:
            yield _rectangle(left + 2, top + 2, width - 4, _ROW - 4, _EMPTY)
            yield _text(centre, top + _ROW / 2 + 6, "–", colour=_MUTED, middle=True)
        else:
            step = ramp_step(rate, len(_RAMP))
            ink = _PAPER if step >= _LIGHT_FROM else _INK
            yield _rectangle(left + 2, top + 2, width - 4, _ROW - 4, _RAMP[step])
            yield _text(centre, top + 25, percent(rate.value), colour=ink, middle=True, bold=True)
            yield _text(centre, top + 44, _counts(rate), size=13, colour=ink, middle=True)
        left += width


def _note_lines(note: str) -> list[str]:
    """The lines of a note; of more than `_MOST_LINES` the middle is left out."""
    whole = shortened_inside(one_line(note), _LONGEST_NOTE * _MOST_LINES)
    return textwrap.wrap(whole, _LONGEST_NOTE)


def _label(name: str) -> str:
    return shortened_inside(one_line(name), _LONGEST_NAME)


def _rectangle(x: float, y: float, width: float, height: float, colour: str) -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{colour}"/>'


def _text(
    x: float,
    y: float,
    content: str,
    *,
    size: int = 16,
    colour: str = _INK,
    middle: bool = False,
    bold: bool = False,
) -> str:
    look = ' text-anchor="middle"' if middle else ""
    look += ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{colour}"{look}>'
        f"{escape(one_line(content))}</text>"
    )
