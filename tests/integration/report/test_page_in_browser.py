"""What a real browser makes of a page full of hostile text: no request, no script, no element."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from failproof_es.report.formats.html import pieces
from failproof_es.report.page.blocks import (
    Collapsible,
    Method,
    Paragraph,
    QuotedText,
    ReportPage,
    ReportSection,
    Rest,
)
from tests.browser import beacon, launched
from tests.harmless_html import hostile, objections

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as opened:
        yield opened


def loaded(browser: Browser, file: Path) -> str:
    """The document as the browser has it after the page asked for whatever it wanted."""
    tab = browser.new_page()
    tab.goto(file.as_uri(), wait_until="networkidle")
    document = tab.content()
    tab.close()
    return document


def test_a_browser_finds_nothing_to_ask_for_and_nothing_to_run(
    browser: Browser, tmp_path: Path
) -> None:
    with beacon() as heard:
        texts = hostile(heard.port)
        blocks = tuple(
            block
            for name, text in texts.items()
            for block in (
                Paragraph(text),
                QuotedText(name, text),
                Collapsible(text, (), (QuotedText(text, text, reply=True),)),
            )
        )
        everything = "".join(texts.values())
        section = ReportSection("all", everything, blocks)
        page = ReportPage(everything, "k", "bad", everything, (), (section,), everything)
        file = tmp_path / "report.html"
        file.write_bytes(b"".join(pieces(page)))
        document = loaded(browser, file).replace("<!DOCTYPE", "<!doctype", 1)
    assert heard.paths == []
    assert objections(document) == []
    assert document.count("<details") == len(texts)


def test_the_same_browser_does_obey_a_page_that_does_not_escape(
    browser: Browser, tmp_path: Path
) -> None:
    with beacon() as heard:
        file = tmp_path / "naive.html"
        image = f"<img src=http://127.0.0.1:{heard.port}/img>"
        file.write_text(f"<title>naive</title>{image}<script>document.title='x'</script>", "utf-8")
        document = loaded(browser, file)
    assert "/img" in heard.paths
    assert "<title>x</title>" in document


def test_paper_has_the_sections_and_methods_that_are_closed_and_no_transcript(
    browser: Browser, tmp_path: Path
) -> None:
    transcript = Collapsible("t", (), (Paragraph("transcript"),), (("got", "no"),), on_paper=False)
    blocks = (Paragraph("text"), Method("method"), Collapsible("c", (), (Paragraph("inner"),)))
    sections = (
        ReportSection("open", "Open", (transcript, Rest("r", (Paragraph("rest"),)))),
        ReportSection("shut", "Shut", blocks, "summary"),
    )
    file = tmp_path / "report.html"
    page = ReportPage("t", "k", "plain", "v", (), sections, "f")
    file.write_bytes(b"".join(pieces(page)))
    tab = browser.new_page()
    tab.goto(file.as_uri())

    def visible() -> list[str]:
        texts = ("transcript", "rest", "text", "method", "inner")
        return [text for text in texts if tab.get_by_text(text, exact=True).is_visible()]

    assert visible() == []
    tab.emulate_media(media="print")
    assert visible() == ["text", "method", "inner"]
