"""The building blocks of a report page. Every `str` here is data: the template escapes it.

Only `Figure.svg` is markup, and only `failproof_es.report.charts.plots` makes it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

Tone = Literal["good", "bad", "doubt", "plain"]
Align = Literal["name", "number", "text"]

LONGEST_TEXT = 20_000
"""Characters of one text that a page shows at most; the log holds all of it."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A highlighted word. Its text and frame carry the meaning; colour (`tone`) only adds to it."""

    text: str
    tone: Tone = "plain"


Cell = str | Mark


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a table: its heading, and whether it holds names, numbers or other text.

    The first column of every table names its rows.
    """

    heading: str
    align: Align = "number"


class _Shown:
    """A block, which a template shows by its kind."""

    __slots__ = ()

    @property
    def kind(self) -> str:
        """Name of its class."""
        return type(self).__name__


@dataclass(frozen=True, slots=True)
class Paragraph(_Shown):
    """A paragraph. With `note` it explains the results instead of stating them."""

    text: str
    note: bool = False


@dataclass(frozen=True, slots=True)
class Method(_Shown):
    """The computation of the numbers in the block before it; closed at first."""

    text: str


@dataclass(frozen=True, slots=True)
class Heading(_Shown):
    """A heading of the blocks that follow it."""

    text: str


@dataclass(frozen=True, slots=True)
class Items(_Shown):
    """A bulleted list."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Facts(_Shown):
    """A list of facts, each a name and a value."""

    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Table(_Shown):
    """A table; each row has one cell for each column."""

    caption: str
    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class Figure(_Shown):
    """A chart; the table next to it has the same numbers."""

    caption: str
    svg: Markup


@dataclass(frozen=True, slots=True)
class QuotedText(_Shown):
    """A text with its line breaks, as a case, a model or a judge wrote it; `who` is its heading.

    `reply` distinguishes answers of the model under test from other texts.
    """

    who: str
    text: str
    reply: bool = False

    @property
    def visible_text(self) -> str:
        """The first `LONGEST_TEXT` characters of the text: a page shows no more."""
        return self.text[:LONGEST_TEXT]

    @property
    def left_out(self) -> int:
        """Number of characters that the page does not show."""
        return max(len(self.text) - LONGEST_TEXT, 0)


@dataclass(frozen=True, slots=True)
class Collapsible(_Shown):
    """A line with marks and facts that opens to show its blocks; closed at first.

    In Markdown, which has no such thing, it is a heading with the blocks below.
    """

    summary: str
    marks: tuple[Mark, ...]
    blocks: tuple[Block, ...]
    facts: tuple[tuple[str, str], ...] = ()
    """Names and values that are shown while it is closed, too."""
    on_paper: bool = True
    """Whether paper shows its blocks although it is closed on the screen."""


@dataclass(frozen=True, slots=True)
class Rest(_Shown):
    """Further blocks of a list, closed at first; iterated once, while they are written.

    Only a section holds one. Paper has its blocks only if it is open on the screen.
    """

    summary: str
    blocks: Iterable[Block]


Block = Paragraph | Method | Heading | Items | Facts | Table | Figure | QuotedText | Collapsible


@dataclass(frozen=True, slots=True)
class ReportSection:
    """A section of the page; `anchor` is its id in links.

    Its blocks are iterated once, while they are written.
    """

    anchor: str
    title: str
    blocks: Iterable[Block | Rest]
    summary: str | None = None
    """Text beside the title of a section that is closed at first; `None` if it is open."""


@dataclass(frozen=True, slots=True)
class ReportPage:
    """A whole page: the verdict, and the sections that support it.

    `kicker` is the small line above the title, `remarks` stand below the verdict.
    """

    title: str
    kicker: str
    tone: Tone
    verdict: str
    remarks: tuple[str, ...]
    sections: tuple[ReportSection, ...]
    footer: str
