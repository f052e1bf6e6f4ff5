"""The building blocks of a report page. Every `str` here is data: the template escapes it.

Only `Figure.svg` is markup, and only `failproof_es.report.charts.plots` makes it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

from markupsafe import Markup

Tone = Literal["good", "bad", "doubt", "plain"]
Align = Literal["name", "number", "text"]

LONGEST_TEXT = 20_000
"""How many characters of one text a page shows; the log holds all of it."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A highlighted word. Its text and frame carry the meaning; colour only adds to it."""

    text: str
    tone: Tone = "plain"


Cell = str | Mark


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a table. The first column of every table names its rows."""

    heading: str
    align: Align = "number"


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph. A note explains the results instead of stating them."""

    kind: ClassVar[str] = "paragraph"

    text: str
    note: bool = False


@dataclass(frozen=True, slots=True)
class Heading:
    """What the blocks up to the next heading are about."""

    kind: ClassVar[str] = "heading"

    text: str


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    kind: ClassVar[str] = "items"

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """Named facts."""

    kind: ClassVar[str] = "facts"

    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows as wide as there are columns."""

    kind: ClassVar[str] = "table"

    caption: str
    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture; the table beside it says the same in numbers."""

    kind: ClassVar[str] = "figure"

    caption: str
    svg: Markup


@dataclass(frozen=True, slots=True)
class QuotedText:
    """A text as somebody wrote it, line by line: what was asked, what a model or a judge said."""

    kind: ClassVar[str] = "quotation"

    who: str
    text: str
    reply: bool = False

    @property
    def visible_text(self) -> str:
        """As much of the text as a page shows."""
        return self.text[:LONGEST_TEXT]

    @property
    def left_out(self) -> int:
        """How many characters the page does not show."""
        return max(len(self.text) - LONGEST_TEXT, 0)


@dataclass(frozen=True, slots=True)
class Collapsible:
    """Details behind a fold, closed at first."""

    kind: ClassVar[str] = "fold"

    summary: str
    marks: tuple[Mark, ...]
    blocks: tuple[Block, ...]


Block = Paragraph | Heading | Items | Facts | Table | Figure | QuotedText | Collapsible


@dataclass(frozen=True, slots=True)
class ReportSection:
    """A section of the page. Its blocks are asked for once, when they are written."""

    anchor: str
    title: str
    blocks: Iterable[Block]


@dataclass(frozen=True, slots=True)
class ReportPage:
    """A whole page: the verdict, and the sections that support it."""

    title: str
    kicker: str
    tone: Tone
    verdict: str
    rate_lines: tuple[str, ...]
    sections: tuple[ReportSection, ...]
    footer: str
