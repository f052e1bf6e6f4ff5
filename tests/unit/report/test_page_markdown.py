"""The report as Markdown: data is text, whatever it looks like."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from failproof_es.report.formats.markdown import pieces, text
from failproof_es.report.page.blocks import (
    Collapsible,
    Mark,
    QuotedText,
    ReportPage,
    ReportSection,
    Table,
    TableColumn,
)

HOSTILE = "<script>alert(1)</script> ![x](http://evil/x.png) | **bold** `code` \u202e\x1b[2J"


def page(*blocks: object) -> str:
    made = ReportPage(
        title=HOSTILE, kicker="k", tone="plain", verdict="v", remarks=(HOSTILE,),
        sections=(ReportSection("s", "Section", blocks),), footer="f",  # type: ignore[arg-type]
    )  # fmt: skip
    return b"".join(pieces(made)).decode()


def test_hostile_text_is_neither_markup_nor_link_nor_hidden() -> None:
    shown = text(HOSTILE)
    assert "\\<script\\>" in shown and "!\\[x\\](http\\://evil" in shown
    assert "\\*\\*bold\\*\\*" in shown and "\\|" in shown
    assert "\u202e" not in shown and "\x1b" not in shown and "u202e" in shown


def test_a_line_that_is_data_begins_no_list_heading_or_rule() -> None:
    for opening in ("- a", "+ a", "1. a", "2) a", "# a", "=== ", "> a"):
        assert re.match(r"\d*\\", text(opening)), opening


def test_a_table_has_as_many_cells_as_columns_whatever_they_hold() -> None:
    table = Table("t", (TableColumn("a", "name"), TableColumn("b")), (("x | y\nz", Mark("|")),))
    rows = [line for line in page(table).splitlines() if line.startswith("| ")]
    assert [len(re.findall(r"(?<!\\)\|", row)) for row in rows] == [3, 3]


def test_a_table_alone_in_a_fold_has_its_heading_once() -> None:
    table = Table("Passed, by suite", (TableColumn("a", "name"),), (("x",),))
    fold = Collapsible("Passed, by suite: 1 row", (), (table,))
    assert page(fold).count("Passed, by suite") == 1
    assert page(table).count("Passed, by suite") == 1


def test_a_quotation_stands_in_a_fence_longer_than_any_in_it() -> None:
    shown = page(QuotedText("model", "```\n# not a heading\n`````\nstill"))
    assert "\n``````text\n" in shown and "\n``````\n" in shown


@given(st.text())
def test_any_quotation_ends_where_its_fence_does(said: str) -> None:
    shown = page(QuotedText("model", said)).split("model:\n\n", 1)[1]
    fence = re.match("`+", shown)
    assert fence is not None
    body = shown[len(fence[0]) + len("text\n") :]
    assert body.count(f"\n{fence[0]}\n") == 1
