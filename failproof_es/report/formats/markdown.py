"""Renders a page's blocks as Markdown. Data stays text and never becomes markup.

Hidden characters are shown as escapes; a quotation's fence is longer than any fence in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from failproof_es.report.page.blocks import (
    Block,
    Cell,
    Collapsible,
    Facts,
    Figure,
    Heading,
    Items,
    Mark,
    Method,
    Paragraph,
    QuotedText,
    ReportPage,
    Rest,
    Table,
)
from failproof_es.support.untrusted_text import lines, one_line

_MARKUP = re.compile(r"([\\`*_\[\]<>|~&$])")
_OPENING = re.compile(r"^(\s*\d*)([-+=#.)!])")
"""Line beginnings that Markdown reads as a list, a heading or a rule."""
_LINK = re.compile(r"(?i)\b(https?|ftp|www)([:.])")
_FENCE = re.compile(r"`{3,}")


def pieces(page: ReportPage) -> Iterator[bytes]:
    """The Markdown document of the page (UTF-8), line by line."""
    for line in _lines(page):
        yield f"{line}\n".encode()


def text(value: object) -> str:
    """Any value as Markdown text that begins a line; nothing in it acts as markup.

    Markup, links and list markers are escaped; line breaks and hidden characters become visible
    escapes.
    """
    return _OPENING.sub(r"\1\\\2", inline(value))


def inline(value: object) -> str:
    """Any value as Markdown text within a line; nothing in it acts as markup or as a link.

    Line breaks and hidden characters become visible escapes.
    """
    escaped = _MARKUP.sub(r"\\\1", one_line(value))
    return _LINK.sub(r"\1\\\2", escaped)


def _lines(page: ReportPage) -> Iterator[str]:
    yield f"# {text(page.title)}"
    yield ""
    yield text(page.kicker)
    yield ""
    yield f"**{inline(page.verdict)}**"
    if page.remarks:
        yield ""
    yield from (f"- {text(remark)}" for remark in page.remarks)
    for section in page.sections:
        yield ""
        yield f"## {text(section.title)}"
        yield from _blocks(section.blocks)
    yield ""
    yield "---"
    yield ""
    yield text(page.footer)


def _blocks(blocks: Iterable[Block | Rest]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, Rest):
            yield from _blocks(block.blocks)
            continue
        if _is_drawn(block):
            continue  # the table next to it has the same numbers
        yield ""
        yield from _block(block)


def _is_drawn(block: Block) -> bool:
    return isinstance(block, Figure) or (
        isinstance(block, Collapsible) and all(isinstance(b, Figure) for b in block.blocks)
    )


def _block(block: Block) -> Iterator[str]:
    match block:
        case Paragraph():
            yield f"*{inline(block.text)}*" if block.note else text(block.text)
        case Method():
            yield f"*{inline(block.text)}*"
        case Heading():
            yield f"### {text(block.text)}"
        case Items():
            yield from (f"- {text(bullet)}" for bullet in block.texts)
        case Facts():
            yield from _facts(block.facts)
        case Table():
            yield from table_lines(block)
        case QuotedText():
            yield from _quotation(block)
        case Collapsible():
            marks = "".join(f" · {text(mark.text)}" for mark in block.marks)
            yield f"#### {text(block.summary)}{marks}"
            if block.facts:
                yield ""
                yield from _facts(block.facts)
            yield from _inside(block)


def _inside(fold: Collapsible) -> Iterator[str]:
    """The blocks of a fold; the caption of a table alone would repeat the fold's heading."""
    shown = [inner for inner in fold.blocks if not _is_drawn(inner)]
    if len(shown) == 1 and isinstance(shown[0], Table):
        yield ""
        yield from _rows(shown[0])
    else:
        yield from _blocks(shown)


def _facts(facts: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield from (f"- **{inline(name)}**: {inline(value)}" for name, value in facts)


def table_lines(table: Table) -> Iterator[str]:
    """The lines of a table: its caption, its headings and its rows."""
    yield f"**{inline(table.caption)}**"
    yield ""
    yield from _rows(table)


def _rows(table: Table) -> Iterator[str]:
    yield _row(column.heading for column in table.columns)
    yield _rule(column.align == "number" for column in table.columns)
    for row in table.rows:
        yield _row(row)


def _row(cells: Iterable[Cell]) -> str:
    texts = (inline(cell.text if isinstance(cell, Mark) else cell) or " " for cell in cells)
    return f"| {' | '.join(texts)} |"


def _rule(to_the_right: Iterable[bool]) -> str:
    return f"|{'|'.join('---:' if right else '---' for right in to_the_right)}|"


def _quotation(quotation: QuotedText) -> Iterator[str]:
    body = lines(quotation.visible_text)
    longest = max((len(fence) for fence in _FENCE.findall(body)), default=2)
    fence = "`" * (longest + 1)
    yield f"{text(quotation.who)}:"
    yield ""
    yield f"{fence}text"
    yield body
    yield fence
    if quotation.left_out:
        yield f"({quotation.left_out:,} more characters are in the log)"
