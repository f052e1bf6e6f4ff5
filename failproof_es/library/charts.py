"""The charts of a run's report, as pictures that a notebook displays.

A chart is displayed as an image: its styles cannot reach the notebook, and nothing in it can run.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import overload
from uuid import UUID

from failproof_es.report.data.builder import build_report
from failproof_es.report.formats.html import stylesheet
from failproof_es.report.page.blocks import Collapsible, Figure
from failproof_es.report.page.sections import build_page
from failproof_es.store.reading.reader import Connection
from failproof_es.support.untrusted_text import one_line

_HEAD = "<svg "


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart, which a notebook displays: a caption and a self-contained SVG document."""

    caption: str
    svg: str

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {
            "text/html": self._repr_html_(),
            "image/svg+xml": self.svg,
            "text/plain": repr(self),
        }

    def _repr_html_(self) -> str:
        data = b64encode(self.svg.encode()).decode()
        caption = escape(one_line(self.caption))
        return (
            f'<figure><img alt="{caption}" src="data:image/svg+xml;base64,{data}">'
            f"<figcaption>{caption}</figcaption></figure>"
        )

    def __repr__(self) -> str:
        return f"<Chart {one_line(self.caption)!r}>"


class Charts(Sequence[Chart]):
    """The charts of a run, in the order of its report."""

    def __init__(self, charts: Sequence[Chart]) -> None:
        self._charts = tuple(charts)

    @overload
    def __getitem__(self, index: int) -> Chart: ...
    @overload
    def __getitem__(self, index: slice) -> Charts: ...
    def __getitem__(self, index: int | slice) -> Chart | Charts:
        selection = self._charts[index]
        return selection if isinstance(selection, Chart) else Charts(selection)

    def __len__(self) -> int:
        return len(self._charts)

    def _repr_html_(self) -> str:
        html = "".join(chart._repr_html_() for chart in self._charts)
        return html or "<p>Nothing is finished yet, so nothing is drawn.</p>"

    def __repr__(self) -> str:
        return f"<Charts {list(self._charts)!r}>"


def charts_of(connection: Connection, run_id: UUID) -> Charts:
    """The charts of the run's report, in its order; empty if nothing is finished yet."""
    page = build_page(build_report(connection, [run_id]), ())
    return Charts([_chart(f) for section in page.sections for f in _figures(section.blocks)])


def _figures(blocks: Iterable[object]) -> Iterator[Figure]:
    """The figures among the blocks, closed ones, too."""
    for block in blocks:
        if isinstance(block, Figure):
            yield block
        elif isinstance(block, Collapsible):
            yield from _figures(block.blocks)


def _chart(figure: Figure) -> Chart:
    drawn = str(figure.svg)
    if not drawn.startswith(_HEAD):
        raise ValueError("a chart does not begin as one")
    opening, _, rest = drawn.partition(">")
    root_tag = f'{_HEAD}xmlns="http://www.w3.org/2000/svg" {opening.removeprefix(_HEAD)}'
    return Chart(figure.caption, f"{root_tag}><style>{_style()}</style>{rest}")


@cache
def _style() -> str:
    """The CSS of a chart: the report's styles, with a background for an image of its own."""
    return "".join([*_sheets(), "svg { background: var(--paper); }"])


def _sheets() -> Iterator[str]:
    for name in ("tokens.css", "charts.css"):
        text = stylesheet(name).decode()
        if "<" in text or "&" in text:
            raise ValueError(f"{name} cannot stand in an SVG document")
        yield text
