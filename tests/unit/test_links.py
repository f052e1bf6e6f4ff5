"""Every relative link of the pages leads to a file, and every anchor to a heading of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.every import every

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAMED = re.compile(r"(?<![\w./-])docs/[\w./-]+\.(?:md|py|json|png)\b")
CODE = sorted(
    file
    for folder in ("failproof_es", "projections", "tools", "suites", "configs")
    for file in (ROOT / folder).rglob("*")
    if file.suffix in (".py", ".toml", ".yaml", ".json", ".sql") and "migrations" not in file.parts
)
"""Where a page may be named. A migration is never edited: it names the pages of its day."""


def tokens(text: str) -> Iterator[Token]:
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        yield token
        yield from token.children or ()


@cache
def anchors(page: Path) -> frozenset[str]:
    """The headings as they are linked to: in lower case, words joined by `-`, numbered if twice."""
    found: Counter[str] = Counter()
    names = set()
    stream = list(tokens(page.read_text("utf-8")))
    for before, inside in pairwise(stream):
        if before.type == "heading_open":
            text = "".join(each.content for each in inside.children or ())
            name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            names.add(f"{name}-{found[name]}" if found[name] else name)
            found[name] += 1
    return frozenset(names)


def broken(page: Path, text: str) -> Iterator[str]:
    """Each link and picture of the text that leads nowhere from that page."""
    for token in tokens(text):
        link = str(token.attrs.get("href") or token.attrs.get("src") or "")
        parts = urlsplit(link)
        if not link or parts.scheme:
            continue
        target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        there = target.is_relative_to(ROOT) and target.exists()
        if there and parts.fragment and target.suffix == ".md":
            there = parts.fragment in anchors(target)
        if not there:
            yield link


@pytest.mark.long
@every("page", PAGES)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    assert list(broken(page, page.read_text("utf-8"))) == []


def test_a_link_that_leads_nowhere_is_seen() -> None:
    text = (
        "[a](none.md) [b](architecture.md#the-ledger) [c](architecture.md#nothing) ![d](no.png) "
        "[e](../README.md) [f](../../elsewhere.md) `[g](code.md)`\n\n```\n[h](code.md)\n```\n"
    )
    seen = list(broken(ROOT / "docs" / "index.md", text))
    assert seen == ["none.md", "architecture.md#nothing", "no.png", "../../elsewhere.md"]


@pytest.mark.long
def test_every_page_that_is_named_in_code_is_there() -> None:
    named = [(file, name) for file in CODE for name in NAMED.findall(file.read_text("utf-8"))]
    assert len(named) > 20
    assert [(file.name, name) for file, name in named if not (ROOT / name).exists()] == []


def test_the_index_of_decisions_lists_each_by_its_title() -> None:
    folder = ROOT / "docs" / "decisions"
    index = (folder / "index.md").read_text("utf-8")
    for page in folder.glob("2*.md"):
        title = page.read_text("utf-8").splitlines()[0].removeprefix("# ")
        title = title.removeprefix(f"{page.name[:10]}: ")
        assert f"- [{title[0].upper()}{title[1:]}]({page.name})\n" in index


def test_the_glossary_has_at_most_thirty_words_in_their_order() -> None:
    page = (ROOT / "docs" / "concepts" / "glossary.md").read_text("utf-8")
    words = re.findall(r"^\| ([a-z ]+) \|", page, re.M)[1:]
    assert 20 < len(words) <= 30
    assert words == sorted(set(words))
