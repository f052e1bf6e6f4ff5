"""One file that shows hostile text and obeys none of it."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.report.charts.plots import Bar, bars
from failproof_es.report.formats.html import pieces, quoted
from failproof_es.report.page.blocks import (
    LONGEST_TEXT,
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
    ReportSection,
    Table,
    TableColumn,
)
from tests.every import every
from tests.harmless_html import hostile, objections


def page_of(text: str) -> ReportPage:
    """A page that says `text` wherever a page can say anything."""
    table = Table(
        text,
        (TableColumn(text, "name"), TableColumn(text), TableColumn(text)),
        ((text, text, Mark(text)),),
    )
    blocks = (
        Paragraph(text),
        Paragraph(text, note=True),
        Method(text),
        Heading(text),
        Items((text, text)),
        Facts(((text, text),)),
        table,
        QuotedText(text, text),
        QuotedText(text, text, reply=True),
        Collapsible(text, (Mark(text, "bad"),), (QuotedText(text, text), table), ((text, text),)),
    )
    sections = (ReportSection("a", text, blocks), ReportSection("b", text, iter(blocks), text))
    return ReportPage(text, text, "bad", text, (text,), sections, text)


def html_of(page: ReportPage) -> str:
    return b"".join(pieces(page)).decode()


@every("name", hostile())
@pytest.mark.long
def test_hostile_text_adds_nothing_to_the_page_wherever_it_stands(name: str) -> None:
    assert objections(html_of(page_of(hostile()[name]))) == []


@given(st.text(alphabet=st.characters(codec=None, exclude_categories=())))
def test_no_text_at_all_adds_anything(text: str) -> None:
    assert objections(html_of(page_of(text))) == []


def test_the_check_itself_finds_what_a_page_that_does_not_escape_would_hold() -> None:
    found = {name for name, text in hostile().items() if objections(f"<p>{text}</p>")}
    harmless_as_text = {"attribute", "template", "first line feed", "long line", "marks", "nothing"}
    assert found == hostile().keys() - harmless_as_text


def test_a_picture_stands_in_the_page_as_it_was_drawn() -> None:
    svg = bars([Bar("one", 1.0, "$1")], label="Cost", axis="US dollars")
    section = ReportSection("cost", "Cost", (Figure("Cost", svg),))
    html = html_of(ReportPage("t", "k", "good", "v", (), (section,), "f"))
    assert objections(html) == []
    assert svg in html


def test_the_policy_forbids_everything_but_the_style_sheet_by_its_hash() -> None:
    html = html_of(page_of("x"))
    style = re.search("<style>(.*?)</style>", html, re.DOTALL)
    assert style
    digest = b64encode(sha256(style[1].encode()).digest()).decode()
    policy = re.search('http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    assert policy
    assert policy[1].replace("&#39;", "'") == (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    assert html.index("Content-Security-Policy") < html.index("<title>")


def test_the_style_sheet_asks_for_nothing_from_elsewhere() -> None:
    style = re.search("<style>(.*?)</style>", html_of(page_of("x")), re.DOTALL)
    assert style
    assert not re.search(r"url\(|@import|@font-face|image-set|expression", style[1])


def test_an_escape_that_was_made_and_one_that_was_written_look_different() -> None:
    assert quoted("\u202e") == '<mark class="unseen">\\u202e</mark>'
    assert quoted("\\u202e") == "\\u202e"


def test_a_text_keeps_its_first_line_feed() -> None:
    assert '<pre dir="auto">\n\n\n  indented' in html_of(page_of("\n\n  indented"))


def test_a_text_too_long_for_a_page_says_how_much_is_missing() -> None:
    html = html_of(page_of("y" * (LONGEST_TEXT + 1_234)))
    assert "1,234 more characters stand in the log." in html


def test_a_value_that_is_not_known_is_an_error_not_the_word_none() -> None:
    with pytest.raises(TypeError, match="NoneType"):
        html_of(page_of(None))  # type: ignore[arg-type]


def test_the_same_page_gives_the_same_bytes() -> None:
    assert html_of(page_of("text")) == html_of(page_of("text"))
